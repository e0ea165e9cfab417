"""Runs a real supervisor in a test folder, with fakes for everything around it: a launcher that runs the
test's script, an ssh that runs its command on this machine, and the programs `stacks` and `check` of the
workers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIB = Path(__file__).parents[3] / "images" / "doc-hvd" / "lib"
WAIT_S = 60

SUPERVISOR = """
import sys
from pathlib import Path
from inside.runtime.layout import Layout
from inside.supervisor.supervisor import main
sys.exit(main(["j"], Layout(Path(sys.argv[1]), Path(sys.argv[2]))))
"""

# The fake launcher executes plan-<n>.py in run n of the job, with the functions defined here.
LAUNCHER = """
import json, os, signal, sys, time
from pathlib import Path
sys.path.insert(0, {lib!r})
from hvdocker.protocol.marks import encode_mark
stage = Path({stage!r})
run = int(os.environ["HVDOCKER_RESTART"])
(stage / f"argv-{{run}}.json").write_text(json.dumps(sys.argv[1:]))

def put(fd, text):
    os.write(fd, text)

def mark(rank, event, host, **more):
    words = {{"event": event, "rank": rank, "host": host, **more}}
    put(2, b"[%d]<stderr>:" % rank + encode_mark(words))

def start(rank, host):
    mark(rank, "rank-start", host, started=1.0)

def end(rank, host, code, **more):
    mark(rank, "rank-exit", host, code=code, signal=more.pop("signal", None), **more)

def beat(rank, host, cpu_s, out_bytes=0):
    mark(rank, "rank-beat", host, cpu_s=cpu_s, out_bytes=out_bytes, rss_kb=1)

def line(rank, text, stream="stdout"):
    put(1 + (stream == "stderr"), b"[%d]<%s>:%s\\n" % (rank, stream.encode(), text.encode()))

def wait_for(name):
    while not (stage / name).exists():
        time.sleep(0.01)

def hang():
    while True:
        signal.pause()

def wait_done():
    wait_for("done")

exec(compile((stage / f"plan-{{run}}.py").read_text(), f"plan-{{run}}.py", "exec"))
"""

# A host is dead while the file dead/<host> exists: logins fail, and sessions end.
SSH = """
import os, subprocess, sys, time
from pathlib import Path
stage = Path({stage!r})
words = sys.argv[1:]
while words[0] == "-o":
    words = words[2:]
host, line = words[0], " ".join(words[1:])
with open(stage / "ssh.log", "a") as log:
    log.write(f"{{host}} {{line}}\\n")
dead = stage / "dead" / host
if dead.exists():
    sys.exit(255)
process = subprocess.Popen(["sh", "-c", line], env={{**os.environ, "FAKE_HOST": host}})
while process.poll() is None:
    if dead.exists():
        process.kill()
        sys.exit(255)
    time.sleep(0.01)
sys.exit(process.returncode)
"""

STACKS = """#!/bin/sh
host="${{FAKE_HOST:-h1}}"
echo "$host" >> {stage}/stacks.log
while [ -e {stage}/stacks/slow ]; do sleep 0.05; done
cat {stage}/stacks/"$host".json
"""

CHECK = """#!/bin/sh
echo "${{FAKE_HOST:-h1}} $*" >> {stage}/check.log
while [ -e {stage}/busy ]; do sleep 0.05; done
[ ! -e {stage}/stuck ]
"""


class SupervisorHarness:
    """One job `j` on h1 (the head), h2 and so on, with one slot each."""

    def __init__(self, folder: Path, hosts: int = 2, **resilience: Any) -> None:  # Any: JSON
        self.folder = folder
        self.run = folder / "run"
        self.bin = folder / "bin"
        self.logs = self.run / "jobs" / "j" / "logs"
        for path in (self.bin, self.logs, folder / "dead", folder / "stacks"):
            path.mkdir(parents=True)
        self.hosts = [host_entry(number) for number in range(1, hosts + 1)]
        self._program("launcher", LAUNCHER, is_python=True)
        self._program("ssh", SSH, is_python=True)
        self._program("stacks", STACKS)
        self._program("check", CHECK)
        words = [str(self.bin / "launcher"), "-np", str(hosts)]
        if not resilience.get("elastic"):
            words += ["-H", ",".join(f"{job_host['address']}:1" for job_host in self.hosts)]
        self.job: dict[str, Any] = {  # Any: JSON
            "format": 2,
            "job": "j",
            "cluster": "lab",
            "host": "h1",
            "hosts": self.hosts,
            "command": ["true"],
            "workdir": str(folder),
            "launcher": {"name": "horovod", "options": {"words": words}},
            "grace_s": 5,
            "endurance": resilience,
        }
        self._process: subprocess.Popen[str] | None = None

    def set_launcher_script(self, run: int, text: str) -> None:
        """Set the Python script that the fake launcher executes in that run of the job."""
        (self.folder / f"plan-{run}.py").write_text(text)

    def kill_host(self, name: str) -> None:
        (self.folder / "dead" / name).touch()

    def revive_host(self, name: str) -> None:
        (self.folder / "dead" / name).unlink()

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def untouch(self, name: str) -> None:
        (self.folder / name).unlink()

    def stack(self, rank: int, host: str, *frames: str) -> None:
        """Set the output of the program `stacks` on a host. A frame is `function file line`."""
        lines = ["Current thread 0x00007f0000000001 (most recent call first):"]
        lines += [f'  File "{file}", line {line} in {name}' for name, file, line in map(str.split, frames)]
        entry = {"rank": rank, "pid": 1, "how": "faulthandler", "text": "\n".join(lines)}
        answer = {"host": host, "ranks": [entry], "gpus": ""}
        (self.folder / "stacks" / f"{host}.json").write_text(json.dumps(answer))

    def start(self) -> None:
        (self.run / "jobs" / "j" / "job.json").write_text(json.dumps(self.job))
        self._process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, str(self.run), str(self.bin)],
            stdout=(self.folder / "stdout").open("w"),
            stderr=(self.folder / "stderr").open("w"),
            env={**os.environ, "PYTHONPATH": str(LIB)},
        )

    def stop(self, number: int = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait for the supervisor; return its exit code."""
        assert self._process is not None
        try:
            return self._process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            # On the second signal the supervisor kills everything that it has started.
            self.stop()
            self.stop()
            raise

    def run_job(self) -> int:
        """Run the whole job; return the exit code of the supervisor."""
        self.start()
        return self.wait()

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until a condition is true; the job must run until then."""
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert self._process is not None and self._process.poll() is None, self.stderr_text()
            if time.monotonic() > deadline:
                self.stop()
                self.stop()
                raise AssertionError(self.stderr_text())
            time.sleep(0.01)

    def stderr_text(self) -> str:
        """Return all that the user would see on stderr."""
        return (self.folder / "stderr").read_text()

    def supervisor_lines(self) -> list[str]:
        """Return the supervisor's own messages, without their prefix."""
        return [line[10:] for line in self.stderr_text().splitlines() if line.startswith("hvdocker: ")]

    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def argv(self, run: int) -> list[str]:
        words: list[str] = json.loads(self.text(f"argv-{run}.json"))
        return words

    def record(self) -> dict[str, Any]:  # Any: JSON
        value: dict[str, Any] = json.loads((self.run / "record.json").read_text())  # Any: JSON
        return value

    def _program(self, name: str, text: str, is_python: bool = False) -> None:
        filled = text.format(stage=str(self.folder), lib=str(LIB))
        path = self.bin / name
        path.write_text(f"#!{sys.executable} -I\n{filled}" if is_python else filled)
        path.chmod(0o755)


def host_entry(number: int) -> dict[str, Any]:  # Any: JSON
    # The head's address is loopback, so that the supervisor finds an interface for it.
    address = "127.0.0.1" if number == 1 else f"198.18.0.{number}"
    return {"name": f"h{number}", "address": address, "slots": 1}
