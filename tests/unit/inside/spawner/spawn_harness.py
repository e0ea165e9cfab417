"""Runs a real spawner with real agents and rank wrappers in a test folder. ssh is a program that runs its command on
this machine, as long as the file dead/HOST is missing. Each host has a run folder of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inside.runtime.processes import processes

LIB = Path(__file__).parents[4] / "images" / "doc-hvd" / "lib"
WAIT_S = 60

SPAWN = """
import sys
sys.path.insert(0, {lib!r})
from pathlib import Path
from {layout} import Layout
from inside.spawner.spawner import main
sys.exit(main(sys.argv[1:], Layout(Path({folder!r}) / "h1", Path({folder!r}) / "bin")))
"""
AGENT = """
import os, sys
sys.path.insert(0, {lib!r})
from pathlib import Path
from {layout} import Layout
from inside.spawner.agent import main
run = Path({folder!r}) / os.environ.get("FAKE_HOST", "h1")
(run / "agent.pid").write_text(str(os.getpid()))
sys.exit(main(sys.argv[1:], Layout(run, Path({folder!r}) / "bin")))
"""
# The agent gives its processes HOME of the container.
RANK = """
import os, sys
sys.path.insert(0, {lib!r})
from pathlib import Path
from inside.rank.rank import main
sys.exit(main(sys.argv[1:], Path(os.environ["HOME"])))
"""
SSH = """
import os, subprocess, sys, time
from pathlib import Path
folder = Path({folder!r})
words = sys.argv[1:]
while words[0] == "-o":
    words = words[2:]
host, line = words[0], " ".join(words[1:])
(folder / host / "ssh.pid").write_text(str(os.getpid()))
dead = folder / "dead" / host
if dead.exists():
    sys.exit(255)
# Like sshd's, the pipes of the session are its own.
process = subprocess.Popen(["sh", "-c", line], env={{**os.environ, "FAKE_HOST": host}},
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
import selectors
ways = {{process.stdout.fileno(): 1, process.stderr.fileno(): 2, 0: process.stdin.fileno()}}
poll = selectors.DefaultSelector()
for fd in ways:
    poll.register(fd, selectors.EVENT_READ)
while len(poll.get_map()) > (0 in poll.get_map()):
    if dead.exists():
        os.killpg(process.pid, 9)
        sys.exit(255)
    for key, _ in poll.select(0.02):
        data = os.read(key.fd, 65536)
        if data:
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(ways[key.fd], view):]
            except BrokenPipeError:
                sys.exit(255)
        else:
            poll.unregister(key.fd)
            if key.fd == 0:
                process.stdin.close()
sys.exit(process.wait())
"""
LAYOUT = "inside.runtime.layout"


class SpawnHarness:
    """The job `j` on h1 (the head), h2 and so on, with the given numbers of slots."""

    def __init__(self, folder: Path, *slots: int) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.hosts = [
            {"name": f"h{number}", "address": "127.0.0.1", "slots": count}
            for number, count in enumerate(slots or (1, 1), start=1)
        ]
        for name in ("bin", "dead", *(host["name"] for host in self.hosts)):
            (folder / str(name)).mkdir()
        for name, text in (("spawn", SPAWN), ("agent", AGENT), ("rank", RANK), ("ssh", SSH)):
            self.program(name, text.format(lib=str(LIB), folder=str(folder), layout=LAYOUT))
        self.process: subprocess.Popen[bytes] | None = None

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{sys.executable} -I\n{text}")
        path.chmod(0o755)

    def write_job(self, command: list[str], launcher: str = "each", **more: Any) -> None:  # Any: JSON
        """Write the job.json of every host. `more` are further keys, or other values."""
        job = {
            "format": 2,
            "job": "j",
            "cluster": "lab",
            "hosts": self.hosts,
            "command": command,
            "workdir": str(self.folder),
            "launcher": {"name": launcher, "options": more.pop("options", {"fail_fast": True})},
            "grace_s": 5,
            "master_port": 29500,
            **more,
        }
        for host in self.hosts:
            run = self.folder / str(host["name"])
            (run / "jobs" / "j" / "logs").mkdir(parents=True, exist_ok=True)
            (run / "jobs" / "j" / "job.json").write_text(json.dumps({**job, "host": host["name"]}))
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            (run / "image.env").write_bytes(f"PATH={path}\0HOME={run}\0".encode())

    def start(self, output: "int | None" = None) -> "subprocess.Popen[bytes]":
        """Start the spawner. Its output goes to the files stdout and stderr; stdout to the file descriptor `output` if
        that is given."""
        words = [f"{host['name']}={host['address']}={host['slots']}" for host in self.hosts]
        self.process = subprocess.Popen(
            [str(self.bin / "spawn"), "j", *words],
            stdout=(self.folder / "stdout").open("wb") if output is None else output,
            stderr=(self.folder / "stderr").open("wb"),
            start_new_session=True,
        )
        return self.process

    def run_job(self, command: list[str], launcher: str = "each", **more: Any) -> int:  # Any: JSON
        self.write_job(command, launcher, **more)
        return self.start().wait(WAIT_S)

    def lines(self) -> list[str]:
        """Return the lines on stdout."""
        return (self.folder / "stdout").read_text().splitlines()

    def errors(self) -> list[str]:
        """Return the lines on stderr, without marks."""
        lines = (self.folder / "stderr").read_text().split("\n")[:-1]
        return [line for line in lines if "\x1ehvdocker " not in line]

    def until(self, is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < deadline, (self.lines(), self.errors())
            time.sleep(0.01)

    def pid(self, name: str) -> int:
        """Return the process id that a program has written, such as h2/agent.pid."""
        self.until(lambda: (self.folder / name).exists() and (self.folder / name).read_text())
        return int((self.folder / name).read_text())

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid(name), number)

    def left_over(self) -> list[str]:
        """Return the processes that belong to this job and still run: they name the test's folder."""
        mark = str(self.folder).encode()
        found = []
        for process in processes():
            try:
                words = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            except OSError:
                continue
            if mark in words and process.state != "Z":
                found.append(words.replace(b"\0", b" ").decode())
        return found

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(WAIT_S)
