"""TensorFlow's own distribution (MultiWorkerMirroredStrategy): every rank gets the variable TF_CONFIG. Pure."""

import json
import re

from inside.launchers.launcher import LauncherRun
from inside.launchers.spawned import Slot, SpawnedLauncher

# Messages in a rank whose peer is gone.
CONSEQUENCE = re.compile(
    r"UnavailableError|AbortedError|Collective ops is aborted|Socket closed|failed to connect to all addresses"
    r"|Connection reset by peer|coordination service|has been shut ?down|CollectiveAllReduceStrategy.*(?:peer|health)",
    re.IGNORECASE,
)
# Functions of TensorFlow in which a rank waits for other ranks, or for a step that contains a collective operation.
WAITING = re.compile(r"quick_execute|_collective|collective_|_check_health|TFE_Py_Execute")


class TensorFlow(SpawnedLauncher):
    """The launcher `tensorflow`. To TensorFlow all ranks are workers, and rank 0 is the chief."""

    name = "tensorflow"
    framework = "TensorFlow"

    def is_consequence(self, line: str) -> bool:
        return bool(CONSEQUENCE.search(line))

    def is_waiting(self, function: str, file: str) -> bool:
        return "/tensorflow/" in file and bool(WAITING.search(function))

    def process_env(self, run: LauncherRun, rank: int, slot: Slot) -> dict[str, str]:
        return {"TF_CONFIG": tf_config(run, rank)}


def tf_config(run: LauncherRun, rank: int) -> str:
    """Return the value of TF_CONFIG for a rank: the addresses at which all ranks listen, and the number of this rank. A
    rank listens on the training address of its host. Its port is MASTER_PORT + 1 + its number among the ranks of the
    host."""
    workers = [
        f"{address(host.address)}:{run.job.master_port + 1 + local}"
        for host in run.hosts
        for local in range(host.slots)
    ]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})


def address(host: str) -> str:
    """Return the address `host` in a form that can be followed by `:PORT`: an IPv6 address in brackets, others
    unchanged."""
    return f"[{host}]" if ":" in host else host


LAUNCHER = TensorFlow()
