"""The words that shells offer after TAB, by their protocols, and in a real bash."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster.cli import Cli, binary
from tests.unit.cli.installed_cli import installed_cli
from tests.unit.cli.test_help import in_a_fresh_interpreter

# What would take long to import. Reading an inventory needs YAML.
SLOW = {"fabric", "invoke", "paramiko", "docker", "requests", "urllib3", "jinja2", "cryptography"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "inventory.yaml").write_text("hosts: [gpu-a, gpu-b, other]\n")
    (tmp_path / "second.yaml").write_text("hosts: [far]\n")
    (tmp_path / "broken.yaml").write_text("hosts: 7\n")
    (tmp_path / "train.py").touch()
    for number, job in enumerate(("train-4kq2", "eval-7abc")):
        (tmp_path / ".hvdocker" / "jobs" / job).mkdir(parents=True)
        os.utime(tmp_path / ".hvdocker" / "jobs" / job, (number, number))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HVDOCKER_INVENTORY", raising=False)
    return tmp_path


OFFERED = [
    ("ssh ", ["gpu-a", "gpu-b", "other"]),
    ("ssh gpu", ["gpu-a", "gpu-b"]),
    ("ssh second.yaml ", ["far"]),
    ("ssh -i second.yaml ", ["far"]),
    ("ssh broken.yaml ", []),
    ("exec --host o", ["other"]),
    ("lock release gpu-a o", ["other"]),
    ("train --include gpu-a,o", ["gpu-a,other"]),
    ("up --exclude gpu-a,", ["gpu-a,gpu-b", "gpu-a,other"]),
    ("logs ", ["eval-7abc", "train-4kq2"]),
    ("logs inventory.yaml tr", ["train-4kq2"]),
    ("diff train-4kq2 e", ["eval-7abc"]),
    ("train --strategy ", ["pack", "spread", "balanced"]),
    ("run --launcher torch", ["torch", "torchrun"]),
    ("run --on-hang ", ["wait", "kill", "restart"]),
    ("up --keep f", ["failed"]),
    ("up --image torch-", ["torch-cpu"]),
    ("image build --target tensorflow-", ["tensorflow-cpu"]),
    ("image push torch-", ["torch-cpu"]),
    ("image b", ["build"]),
    ("up s", ["second.yaml"]),
    ("status ", ["broken.yaml", "inventory.yaml", "second.yaml"]),
    ("up inventory.yaml ", []),
    ("up --local 2 ", []),
    ("up --hosts a ", []),
    ("up -i second.yaml ", []),
    ("up -q s", ["second.yaml"]),
    ("logs train-4kq2 ", []),
    ("train train.py ", []),
    ("ssh gpu-a ", []),
    ("completion ", ["bash", "zsh", "fish"]),
    ("help image ", ["build", "push", "check", "ls"]),
    ("help image build ", []),
    ("help train ", []),
    ("help e", ["exec", "exit-codes", "environment"]),
    ("train tr", []),
]


@pytest.mark.parametrize(("typed", "words"), OFFERED)
def test_what_is_offered_after_tab(folder: Path, typed: str, words: list[str]) -> None:
    line = f"hvdocker {typed}"
    environment = {**os.environ, "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    [(_, out, err, heavy)] = in_a_fresh_interpreter(
        (), environment={**environment, "_HVDOCKER_COMPLETE": "complete_bash"}
    )
    assert (out.split(), err) == (words, "")
    assert not SLOW & set(heavy)


@pytest.mark.parametrize(
    ("shell", "more", "wanted"),
    [
        ("zsh", {}, '_arguments \'*: :(("gpu-a"\n"gpu-b"))\''),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "gpu-a\ngpu-b"),
    ],
)
def test_zsh_and_fish_are_offered_the_same(folder: Path, shell: str, more: dict[str, str], wanted: str) -> None:
    environment = {**os.environ, **more, "_TYPER_COMPLETE_ARGS": "hvdocker ssh gpu"}
    [(_, out, _, _)] = in_a_fresh_interpreter(
        (), environment={**environment, "_HVDOCKER_COMPLETE": f"complete_{shell}"}
    )
    assert out.strip() == wanted


@pytest.fixture
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return installed_cli(tmp_path_factory.mktemp("cli"))


@pytest.mark.parametrize(
    ("words", "wanted"), [("ssh gpu", "gpu-a gpu-b"), ("train --strategy s", "spread"), ("logs e", "eval-7abc")]
)
def test_completion_in_a_real_bash(folder: Path, cli: Cli, words: str, wanted: str) -> None:
    script = f"""
source <(_HVDOCKER_COMPLETE=source_bash hvdocker)
complete -p hvdocker
COMP_WORDS=(hvdocker {words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_hvdocker_completion hvdocker
echo "${{COMPREPLY[@]}}"
"""
    path = f"{Path(binary()).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=cli.environment() | {"PATH": path},
    )
    assert done.stdout.splitlines() == ["complete -o default -F _hvdocker_completion hvdocker", wanted]
