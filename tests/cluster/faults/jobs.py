"""Training jobs for fault tests: real collectives that run until a gate opens, and their progress.

A gate is a file in /data that a script waits for."""

import json
import re
import subprocess
from pathlib import PurePath
from typing import Any

from tests.cluster.faults.trial import DEADLINE_S, Trial
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import until
from tests.cluster.training import DATA, await_no_ranks, workers_run

# If hosts cannot reach each other, the server's side of a login outlives its rank.
CUT_OFF_S = 60.0


def train_words(trial: Trial, *flags: str, kind: str = "steps") -> tuple[str, ...]:
    """Return the command that trains with the script of that kind; arguments for the script may follow."""
    return ("train", trial.launcher.script(kind), *trial.launcher.flags, *flags, "--")


def start_watched(trial: Trial, gate: str, *flags: str, kind: str = "steps") -> "subprocess.Popen[str]":
    """Start a `train` that follows its job; return when the job has done a few steps."""
    process = trial.start(*train_words(trial, *flags, kind=kind), gate)
    await_step(trial, 3)
    if not trial.launcher.is_collective:
        await_step(trial, 3, number=1)
    return process


def start_detached(trial: Trial, gate: str) -> str:
    job = trial.site.run(*train_words(trial, "-d"), gate).out.strip()
    await_step(trial, 3)
    return job


def checkpoint(trial: Trial, number: int = 0) -> dict[str, Any]:
    """Return the newest checkpoint on the host of that number, by default of rank 0; step 0 if there is none."""
    host = trial.hosts[number]
    files = f"{trial.site.folder_on(host)}/jobs/*/out/checkpoint.json"
    code, out, _ = host.attempt(["sh", "-c", f"cat $(ls -t {files} | head -n 1) < /dev/null"])
    return dict(json.loads(out)) if code == 0 and out.strip() else {"step": 0, "ranks": 0}


def forget_checkpoints(trial: Trial) -> None:
    """Remove the checkpoints of all jobs, so that those of the next one are waited for."""
    for host in trial.hosts:
        host.exec(["sh", "-c", f"rm -f {trial.site.folder_on(host)}/jobs/*/out/checkpoint.json"])


def await_step(trial: Trial, step: int, ranks: int | None = None, number: int = 0) -> int:
    """Wait until the job has reached that step, with that many ranks; return its current step. `number` is that of
    the host whose checkpoint says so."""

    def look() -> int | None:
        seen = checkpoint(trial, number)
        has_come = seen["step"] >= step and ranks in (None, seen["ranks"])
        return int(seen["step"]) if has_come else None

    return until(look, f"step {step}", DEADLINE_S)


def await_progress(trial: Trial, ranks: int | None = None) -> int:
    """Wait until the job is ten steps further than now; return its step."""
    return await_step(trial, checkpoint(trial)["step"] + 10, ranks)


def open_gate(trial: Trial, gate: str) -> None:
    """Create the gate file on the head, where scripts share its state by allreduce; otherwise on all hosts."""
    for host in trial.hosts[:1] if trial.launcher.is_collective else trial.hosts:
        host.exec(["touch", f"{DATA}/{gate}"])


def rank_pid(trial: Trial, host: LabHost, kind: str = "steps") -> int:
    """Return the host's process id of a rank that runs the script of that kind."""
    words = ["pgrep", "-f", f"python.*train/{PurePath(trial.launcher.script(kind)).name}"]
    found = until(lambda: host.attempt(words)[1].split() or None, "a rank", 60)
    return int(found[0])


def job_starts(out: str) -> list[tuple[int, int]]:
    """Return, for every start of the job as rank 0 printed it, its first step and its number of ranks."""
    found = re.findall(r"^0@h\d +│ begins at step (\d+) of (\d+) ranks$", out, re.MULTILINE)
    return [(int(step), int(ranks)) for step, ranks in found]


def steps_printed(out: str) -> list[int]:
    """Return the steps that rank 0 printed."""
    return [int(step) for step in re.findall(r"^0@h1 +│ reached step (\d+)$", out, re.MULTILINE)]


def error_text(err: str) -> str:
    """Return the text after the last `error: `."""
    return err.rpartition("error: ")[2]


def newest_job(trial: Trial) -> str:
    return str(trial.site.status()["jobs"][0]["job"])


def finish_job(trial: Trial, process: "subprocess.Popen[str]", gate: str) -> str:
    """Assert that the job makes progress and that `train` exits with 0 once the gate is open; return its
    output."""
    await_progress(trial)
    open_gate(trial, gate)
    code, out, err = trial.wait(process)
    assert code == 0, err
    assert re.search(rf"{gate} has come: step \d+", out)
    return out


def assert_no_ranks_left(trial: Trial, deadline_s: float = 20) -> None:
    """Assert that no rank outlives its job and that the workers still run."""
    await_no_ranks(trial.site, deadline_s=deadline_s)
    assert workers_run(trial.site)


def assert_next_job_runs(trial: Trial) -> None:
    assert trial.site.run("train", "code/report_environment.py", timeout=DEADLINE_S).out.count("told") == 2
