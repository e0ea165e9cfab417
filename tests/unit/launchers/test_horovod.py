from typing import Any

from hvdocker.launchers.horovod import Horovod
from hvdocker.launchers.launcher import LaunchRequest
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic

PLACEMENT = Placement((Share("b", 1), Share("a", 5)))
ADDRESSES = {"a": "10.0.0.11", "b": "10.0.0.12"}


def words(**more: Any) -> tuple[str, ...]:  # Any: fields of LaunchRequest
    job = LaunchRequest(**{"placement": PLACEMENT, "addresses": ADDRESSES, "port": 12345, "np": 6, **more})
    found = Horovod().preview(job)
    assert Horovod().options(job) == {"words": list(found)}
    return found


def test_horovodruns_words() -> None:
    assert words() == (
        "horovodrun", "-np", "6", "-H", "10.0.0.12:1,10.0.0.11:5", "-p", "12345", "--gloo", "--disable-cache",
        "--start-timeout", "120",
    )  # fmt: skip


def test_tuning_comes_last() -> None:
    found = words(start_timeout_s=30, flags=("--autotune", "--cycle-time-ms", "5"))
    assert found[-5:] == ("--start-timeout", "30", "--autotune", "--cycle-time-ms", "5")


def test_an_elastic_job_asks_for_its_hosts() -> None:
    assert words(elastic=Elastic(2, 8), start_timeout_s=60, flags=("--autotune",)) == (
        "horovodrun", "-np", "6", "--min-np", "2", "--max-np", "8",
        "--host-discovery-script", "/opt/hvdocker/bin/discover",
        "-p", "12345", "--gloo", "--disable-cache", "--start-timeout", "60",
        "--blacklist-cooldown-range", "1", "10", "--autotune",
    )  # fmt: skip


def test_an_elastic_job_without_a_bound() -> None:
    assert "--max-np" not in words(elastic=Elastic(2))
