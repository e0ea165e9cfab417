"""The program as it is started by odd surroundings: closed streams, a locale without Unicode, no user name."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUN = "import sys; from hvdocker.cli.main import main; sys.argv[0] = 'hvdocker'; main()"
HOSTS = "hosts: [{name: a, host: 127.0.0.1, ssh: {port: 1}}]\ncluster: lab\n"


def run(folder: Path, redirections: str, *words: str, **env: str) -> "subprocess.CompletedProcess[bytes]":
    (folder / "inventory.yaml").write_text(HOSTS)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-c", RUN, *words],
        cwd=folder,
        env=surroundings(folder, env),
        capture_output=True,
        timeout=60,
    )


def surroundings(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder), **more}


@pytest.mark.parametrize("redirections", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["status", "config", "doctor", "jobs"])
def test_closed_streams_change_no_exit_code(tmp_path: Path, verb: str, redirections: str) -> None:
    told = run(tmp_path, redirections, verb)
    assert told.returncode == run(tmp_path, "", verb).returncode
    assert b"did not foresee" not in told.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_characters_that_the_encoding_lacks_are_replaced(tmp_path: Path, encoding: str) -> None:
    told = run(tmp_path, "", "status", PYTHONIOENCODING=encoding)
    assert b"did not foresee" not in told.stderr
    assert told.returncode == 4
    assert b"-> " in run(tmp_path, "", "logs", PYTHONIOENCODING=encoding).stderr
    assert run(tmp_path, "", "train", "--help", PYTHONIOENCODING=encoding).returncode == 0


NAMELESS = """
import os, pwd
def getpwuid(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = getpwuid
from hvdocker.cli.process_setup import set_up_process
from hvdocker.env import Env
set_up_process()
print(Env().maker().owner)
"""


@pytest.mark.parametrize("has_home", [True, False])
def test_a_user_without_a_name_is_called_by_its_number(tmp_path: Path, has_home: bool) -> None:
    (tmp_path / "inventory.yaml").write_text(HOSTS)
    env = {key: value for key, value in surroundings(tmp_path, {}).items() if has_home or key != "HOME"}
    told = subprocess.run(
        [sys.executable, "-c", NAMELESS + RUN, "status"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.stdout.splitlines()[0] == f"uid-{os.getuid()}"
    assert (told.returncode, "did not foresee" in told.stderr) == (4, False), told.stderr
