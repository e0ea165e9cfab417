"""JAX: every rank gets the environment variables that `jax.distributed.initialize()` reads. Pure."""

import re

from hvdocker.protocol import variables
from inside.launchers.launcher import LauncherRun
from inside.launchers.spawned import Slot, SpawnedLauncher

# Messages in a rank whose peer or coordinator is gone.
CONSEQUENCE = re.compile(
    r"coordination service|CoordinationService|coordinator.*(?:unavailable|shut ?down|failed)|heartbeat timeout"
    r"|UNAVAILABLE:|DEADLINE_EXCEEDED:|Gloo .*failed|Connection (?:closed|reset) by peer|Socket closed",
    re.IGNORECASE,
)
# Functions of JAX in which a rank waits for a result that may need all ranks.
WAITING = re.compile(r"block_until_ready|_value|sync_global_devices|process_allgather|wait_at_barrier|_shutdown")


class Jax(SpawnedLauncher):
    """The launcher `jax`. Rank 0 runs JAX's coordinator, to which all ranks connect."""

    name = "jax"
    framework = "JAX"

    def is_consequence(self, line: str) -> bool:
        return bool(CONSEQUENCE.search(line))

    def is_waiting(self, function: str, file: str) -> bool:
        return "/jax/" in file and bool(WAITING.search(function))

    def process_env(self, run: LauncherRun, rank: int, slot: Slot) -> dict[str, str]:
        size = str(self.process_count(run))
        head = run.job.head_address
        address = f"[{head}]" if ":" in head else head
        return {
            # At its end a process waits for the others, which wait for a failed one.
            variables.FAIL_FAST: "1",
            "JAX_COORDINATOR_ADDRESS": f"{address}:{run.job.master_port}",
            "JAX_NUM_PROCESSES": size,
            "JAX_PROCESS_ID": str(rank),
            # JAX reads only the address from variables of its own. It takes the numbers from a known
            # launcher, here Open MPI, if OMPI_MCA_orte_hnp_uri shows that this launcher is present.
            "OMPI_MCA_orte_hnp_uri": "hvdocker",
            "OMPI_COMM_WORLD_SIZE": size,
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(slot.local),
        }


LAUNCHER = Jax()
