"""The demo takes its cluster down, so it starts only where no container has the name of that cluster."""

from pathlib import Path

import pytest

from hvdocker.cluster.status import HostStatus, StatusReport
from hvdocker.demo import local_workers
from hvdocker.demo.local_workers import has_local_workers
from hvdocker.env import Env
from hvdocker.inventory.locate import Located
from hvdocker.observe.state import HostSeen
from tests.unit.builders import host_seen, host_with_worker, inventory, master

LOCAL, LAB = inventory("local: 2\n"), inventory("hosts: [gpu-a]\n")


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        (None, False),
        (host_seen("w1"), False),
        (host_with_worker(LOCAL, "w1"), True),
        (host_seen("w1", containers=host_with_worker(LAB, "gpu-a").containers), True),
        (host_seen("w1", containers=(master("train-abcd", '{"gpu-a":1}'),)), True),
    ],
    ids=["no-engine", "empty", "own", "real-hosts", "master"],
)
def test_any_container_of_the_cluster_counts(
    seen: HostSeen | None, wanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters: list[str] = []

    def status(env: Env, located: Located) -> StatusReport:
        clusters.append(located.inventory.cluster)
        return StatusReport(LOCAL, (HostStatus("w1", "localhost", seen.worker("w1") if seen else None, seen),), ())

    monkeypatch.setattr(local_workers, "status", status)
    assert has_local_workers(Env(cwd=tmp_path), Path("new") / "demo") is wanted
    assert clusters == ["demo"]
