"""PyTorch without torchrun: every rank is started directly, with the variables that torchrun would set. Pure."""

import re

from hvdocker.protocol.job_file import Job
from inside.launchers.launcher import RankIdentity
from inside.launchers.spawned import SpawnedLauncher

# Messages of c10d, Gloo and NCCL in a rank whose peer is gone. They name addresses and operations, not causes.
CONSEQUENCE = re.compile(
    r"Connection closed by peer|Connection reset by peer|Connection refused.*(?:store|gloo)"
    r"|\[[^\]]*/gloo/transport/|ProcessGroupGloo|ProcessGroupNCCL.*(?:timeout|aborted|Watchdog)"
    r"|DistBackendError|DistNetworkError|DistStoreError|ncclRemoteError|ncclSystemError"
    r"|recvValue(?:WithTimeout)? failed on|sendBytes failed on SocketImpl|Broken pipe",
    re.IGNORECASE,
)
# Files of PyTorch in which a rank waits for other ranks.
WAITING_FILES = ("/torch/distributed/", "/torch/nn/parallel/distributed.py")


class Torch(SpawnedLauncher):
    """The launcher `torch`, for DDP, FSDP and the libraries on top of them, such as Lightning and Accelerate."""

    name = "torch"
    framework = "PyTorch"

    def is_consequence(self, line: str) -> bool:
        return bool(CONSEQUENCE.search(line))

    def is_waiting(self, function: str, file: str) -> bool:
        return any(part in file for part in WAITING_FILES)

    def rank_env(self, identity: RankIdentity, job: Job, interface: str | None) -> dict[str, str]:
        return {
            # By this variable, libraries recognize that a launcher has started the ranks.
            "TORCHELASTIC_RUN_ID": job.name,
            **network_env(interface),
            **thread_env(identity),
        }


def network_env(interface: str | None) -> dict[str, str]:
    """Return the variables that make PyTorch use the training interface; empty if `interface` is None."""
    if interface is None:
        return {}
    # A bare name is a prefix to NCCL: eth1 would also take eth10.
    return {"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": "=" + interface}


def thread_env(identity: RankIdentity) -> dict[str, str]:
    """Return OMP_NUM_THREADS as torchrun sets it. It is 1 if the host has several ranks, because otherwise each rank
    would use all cores. The result is empty if the host has one rank."""
    return {"OMP_NUM_THREADS": "1"} if identity.local_size > 1 else {}


LAUNCHER = Torch()
