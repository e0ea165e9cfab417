"""For the scripts of every launcher: who this rank is, and the line of JSON that tests read."""

import hashlib
import json
import os
import socket
from collections.abc import Iterable
from typing import Any, Protocol

COMMON = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "HVDOCKER_RANK", "HVDOCKER_SIZE", "HVDOCKER_LOCAL_RANK", "HVDOCKER_HOST",
)  # fmt: skip


class Array(Protocol):
    def tobytes(self) -> bytes: ...


def training_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((os.environ["MASTER_ADDR"], 9))  # nothing is sent: the kernel only chooses our address
        return str(probe.getsockname()[0])


def tell(rank: int, size: int, weights: Iterable[Array], **more: Any) -> None:
    """Print this rank's numbers as its framework knows them, its address, its variables and its weights' hash."""
    told = {
        "rank": rank,
        "size": size,
        "address": training_address(),
        "variables": {name: os.environ.get(name) for name in COMMON},
        "weights": hashlib.sha256(b"".join(value.tobytes() for value in weights)).hexdigest(),
        **more,
    }
    print("told", json.dumps(told), flush=True)
