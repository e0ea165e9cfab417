"""Horovod's tuning flags, which are passed to horovodrun unchanged. Unknown flags are errors. Pure."""

from __future__ import annotations

import difflib

from hvdocker.errors import UsageProblem

# Flag → takes a value. These are the groups tunable, autotune, timeline, stall and library of horovodrun
# 0.28, and the flags of the group elastic that do not select hosts.
TUNING_FLAGS: dict[str, bool] = {
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
    "--elastic-timeout": True, "--reset-limit": True,
}  # fmt: skip

_OWN_FLAGS = (
    "--env", "--workdir", "--detach", "--dry-run", "--inventory", "--start-timeout", "--min-np", "--max-np",
    "--restarts", "--hang-after", "--on-hang", "--propagate-exit",
)  # fmt: skip
_AFTER_DASHES = "the script's own arguments go after --"


def split_tuning_flags(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split `words`, the part of the command line that typer did not parse, into plain words (such as the script), and
    Horovod's tuning flags with their values. `--flag=value` becomes two words.

    Raises UsageProblem for an unknown flag, and names the nearest known one. Also raises it if a flag lacks its value,
    or has a value that it does not take."""
    positional: list[str] = []
    tuning: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word.startswith("--"):
            tuning += _flag(word, queue)
        else:
            positional.append(word)
    return positional, tuple(tuning)


def refuse_unknown_words(words: list[str]) -> None:
    """Raise UsageProblem if `words` is not empty. The caller passes the words of the command line that are neither the
    script nor a known flag. The message says that arguments of the script go after `--`."""
    if words:
        raise UsageProblem(f"what is {words[0]!r}?", fix=f"{_AFTER_DASHES}: train train.py -- …")


def _flag(word: str, queue: list[str]) -> list[str]:
    name, equals, value = word.partition("=")
    if name not in TUNING_FLAGS:
        close = difflib.get_close_matches(name, [*TUNING_FLAGS, *_OWN_FLAGS], n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageProblem(f"there is no flag {name}", fix=hint + _AFTER_DASHES)
    if not TUNING_FLAGS[name]:
        if equals:
            raise UsageProblem(f"{name} takes no value")
        return [name]
    if equals:
        return [name, value]
    if not queue or queue[0].startswith("--"):
        raise UsageProblem(f"{name} needs a value")
    return [name, queue.pop(0)]
