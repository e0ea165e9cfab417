"""`hvdocker completion SHELL` prints a script that the shell takes."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster.cli import Cli, binary
from tests.unit.cli.installed_cli import installed_cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed_cli(tmp_path)


@pytest.mark.parametrize(
    ("shell", "registers"),
    [("bash", "complete -o default -F"), ("zsh", "compdef"), ("fish", "complete --command hvdocker")],
)
def test_the_script_registers_hvdocker(cli: Cli, shell: str, registers: str) -> None:
    script = cli.run("completion", shell, check=0).out
    assert registers in script and "_HVDOCKER_COMPLETE=complete_" + shell in script


def test_bash_completes_a_verb_with_it(cli: Cli, tmp_path: Path) -> None:
    script = cli.run("completion", "bash", check=0).out
    ask = f'COMP_WORDS=(hvdocker tr); COMP_CWORD=1; _hvdocker_completion {binary()}; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, env=dict(os.environ))
    assert (done.stdout, done.stderr) == ("train\n", "")


def test_another_shell_is_refused(cli: Cli) -> None:
    refused = cli.run("completion", "tcsh", check=2)
    assert "no completion for 'tcsh'" in refused.err and "bash, zsh, fish" in refused.err
