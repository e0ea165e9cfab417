"""Runs a plan as a script, with stand-ins for ssh, docker and ssh-keygen that record their calls."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker import assets
from hvdocker.inventory.inventory import Inventory
from hvdocker.plan.plan import Plan
from hvdocker.script.script import script_of

STAND_INS = Path(__file__).parents[1] / "fixtures" / "script_bin"


@dataclass(frozen=True)
class ScriptOptions:
    """How the script is run: environment variables, further stand-ins, from a file or through a pipe."""

    environ: Mapping[str, str] = field(default_factory=dict)
    programs: Path | None = None
    is_piped: bool = False
    sudo: frozenset[str] = frozenset()


class ScriptRun:
    """A plan run as a script: `calls` has each call with its host first, in order; `archives` the copied
    tars."""

    def __init__(self, plan: Plan, wanted: Inventory, folder: Path, way: ScriptOptions | None = None) -> None:
        way = way or ScriptOptions()
        log = folder / "log"
        log.mkdir()
        self.text = script_of(plan, wanted, assets.ssh_config_template(), way.sudo)
        path = folder / "plan.sh"
        path.write_text(self.text, encoding="utf-8")
        programs = [str(program) for program in (way.programs, STAND_INS) if program]
        searched = ":".join([*programs, os.environ["PATH"]])
        done = subprocess.run(
            ["bash"] if way.is_piped else ["bash", path],
            env={**os.environ, **way.environ, "PATH": searched, "LOG": str(log)},
            input=self.text if way.is_piped else "",
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), self.text
        calls = [(file, file.read_bytes().decode().split("\0")[:-1]) for file in sorted(log.glob("*/call"))]
        self.calls = [words for _, words in calls]
        self.archives = {
            (words[0], words[-1]): file.with_name("tar") for file, words in calls if words[2:4] == ["cp", "-"]
        }

    def calls_on(self, host: str) -> list[list[str]]:
        return [words[1:] for words in self.calls if words[0] == host]
