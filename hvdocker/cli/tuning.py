"""Horovod's own tuning flags, which `train` passes on unchanged. Everything else is a typo."""

from __future__ import annotations

import difflib

from hvdocker.errors import UsageProblem

# horovodrun 0.28's tunable, autotune, timeline, stall and library groups: name → takes a value.
TUNING: dict[str, bool] = {
    "--fusion-threshold-mb": True, "--cycle-time-ms": True, "--cache-capacity": True,
    "--hierarchical-allreduce": False, "--no-hierarchical-allreduce": False,
    "--hierarchical-allgather": False, "--no-hierarchical-allgather": False,
    "--autotune": False, "--no-autotune": False, "--autotune-log-file": True,
    "--autotune-warmup-samples": True, "--autotune-steps-per-sample": True,
    "--autotune-bayes-opt-max-samples": True, "--autotune-gaussian-process-noise": True,
    "--timeline-filename": True, "--timeline-mark-cycles": False, "--no-timeline-mark-cycles": False,
    "--stall-check": False, "--no-stall-check": False,
    "--stall-check-warning-time-seconds": True, "--stall-check-shutdown-time-seconds": True,
    "--log-level": True, "--log-with-timestamp": False, "--log-without-timestamp": False,
    "--log-hide-timestamp": False, "--prefix-output-with-timestamp": False,
    "--thread-affinity": True, "--gloo-timeout-seconds": True, "--verbose": False,
}  # fmt: skip


def split_tuning(words: list[str]) -> tuple[str, ...]:
    """The flags as horovodrun wants them; complains of anything it does not have."""
    known: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            raise UsageProblem(
                f"what is {word!r}?", fix="the script's own arguments go after --: train train.py -- …"
            )
        if name not in TUNING:
            close = difflib.get_close_matches(
                name, [*TUNING, "--env", "--workdir", "--detach", "--dry-run"], n=1
            )
            hint = f"did you mean {close[0]}? " if close else ""
            raise UsageProblem(
                f"there is no flag {name}", fix=hint + "the script's own arguments go after --"
            )
        if not TUNING[name]:
            known.append(name)
        elif equals:
            known += [name, value]
        elif queue:
            known += [name, queue.pop(0)]
        else:
            raise UsageProblem(f"{name} needs a value")
    return tuple(known)
