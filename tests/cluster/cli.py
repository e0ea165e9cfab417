"""The installed program as a test runs it: a process of its own, in a clean home, with no agent."""

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
    code: int
    out: str
    err: str


@dataclass
class Cli:
    cwd: Path
    home: Path
    known_hosts: Path
    # Before each run the lab's pinned host keys go into the home; a test that writes its own turns this off.
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
        """Runs to the end. What it said is printed, so pytest shows it when the test fails."""
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
        """Starts it and comes back, for tests that interrupt; it is killed when the test ends."""
        if self.pins_hosts and self.known_hosts.exists():
            shutil.copy(self.known_hosts, self.home / ".ssh" / "known_hosts")
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

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def environment(self) -> dict[str, str]:
        dropped = {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "XDG_CACHE_HOME", "DOCKER_HOST"}
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
