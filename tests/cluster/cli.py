"""Runs the installed program for a test: as a separate process, with a clean home and no ssh-agent."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Result:
    """Exit code, standard output and standard error of a run."""

    code: int
    out: str
    err: str


@dataclass
class Cli:
    """The installed program with a working folder and a home."""

    cwd: Path
    home: Path
    known_hosts: Path
    # Before each run the lab's host keys are copied into the home; a test that writes its own disables this.
    pins_hosts: bool = True
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(
        self,
        *args: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 600,
        check: int | None = None,
    ) -> Result:
        """Run the program to its end. Its output is printed, so that pytest shows it when the test fails.

        `check` is the exit code that is asserted; None asserts nothing."""
        process = self.start(*args, cwd=cwd, env=env)
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self._show(process, out, err)
            raise
        self._show(process, out, err)
        if check is not None:
            assert process.returncode == check, f"exit {process.returncode}, expected {check}\n{out}{err}"
        return Result(process.returncode, out, err)

    def start(
        self, *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start the program without waiting, for tests that interrupt it. It is killed when the test ends."""
        self.pin()
        process = subprocess.Popen(
            [binary(), *map(str, args)],
            cwd=cwd or self.cwd,
            env=self.environment() | dict(env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def pin(self) -> None:
        if self.pins_hosts and self.known_hosts.exists():
            shutil.copy(self.known_hosts, self.home / ".ssh" / "known_hosts")

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def environment(self) -> dict[str, str]:
        dropped = {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "XDG_CACHE_HOME", "DOCKER_HOST", "DOCKER_CONTEXT"}
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in dropped and not name.startswith("HVDOCKER_")
        }
        return kept | {"HOME": str(self.home), "NO_COLOR": "1"}

    def _show(self, process: subprocess.Popen[str], out: str, err: str) -> None:
        print(f"$ {shlex.join(map(str, process.args))}   # exit {process.returncode}")  # type: ignore[arg-type]  # a list
        print(out, err, sep="\n--- stderr\n")


def binary() -> str:
    return os.environ.get("HVDOCKER_BIN", str(REPOSITORY / ".venv" / "bin" / "hvdocker"))
