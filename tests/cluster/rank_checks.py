"""Checks what the ranks of a job told of themselves: the scripts `weights_FRAMEWORK.py` and each.py."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.cluster.lab import LabHost


def expected_variables(hosts: Sequence[LabHost]) -> list[dict[str, str]]:
    """Return the variables of all ranks but MASTER_PORT; `hosts` has the host of each rank, in order."""
    nodes = list(dict.fromkeys(host.name for host in hosts))
    shares = Counter(host.name for host in hosts)
    found = []
    for rank, host in enumerate(hosts):
        local_rank = sum(1 for before in hosts[:rank] if before.name == host.name)
        found.append(
            {
                **dict.fromkeys(("RANK", "HVDOCKER_RANK"), str(rank)),
                **dict.fromkeys(("WORLD_SIZE", "HVDOCKER_SIZE"), str(len(hosts))),
                **dict.fromkeys(("LOCAL_RANK", "HVDOCKER_LOCAL_RANK"), str(local_rank)),
                "LOCAL_WORLD_SIZE": str(shares[host.name]),
                **dict.fromkeys(("NODE_RANK", "GROUP_RANK"), str(nodes.index(host.name))),
                "MASTER_ADDR": hosts[0].address,
                "HVDOCKER_HOST": host.name,
            }
        )
    return found


def assert_ranks(ranks: Sequence[dict[str, Any]], hosts: Sequence[LabHost], hashes: int) -> None:
    """Assert that there is one rank for each of `hosts`, in this order, with its address and its variables, and
    that their weights have so many different hashes."""
    assert [(rank["rank"], rank["size"]) for rank in ranks] == [(number, len(hosts)) for number in range(len(hosts))]
    assert [rank["address"] for rank in ranks] == [host.address for host in hosts]
    variables = [dict(rank["variables"]) for rank in ranks]
    ports = {seen.pop("MASTER_PORT") for seen in variables}
    assert variables == expected_variables(hosts)
    assert len(ports) == 1 and 1024 <= int(ports.pop()) < 65536
    assert len({rank["weights"] for rank in ranks}) == hashes
