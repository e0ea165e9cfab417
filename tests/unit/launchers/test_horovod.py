from hvdocker.launchers.horovod import ElasticHorovodrun, Horovodrun
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic

PLACEMENT = Placement((Share("b", 1), Share("a", 5)))
ADDRESSES = {"a": "10.0.0.11", "b": "10.0.0.12"}


def test_horovodruns_words() -> None:
    assert Horovodrun().argv(PLACEMENT, ADDRESSES, 12345) == (
        "horovodrun", "-np", "6", "-H", "10.0.0.12:1,10.0.0.11:5", "-p", "12345", "--gloo", "--disable-cache",
        "--start-timeout", "120",
    )  # fmt: skip


def test_tuning_comes_last() -> None:
    words = Horovodrun(30, ["--autotune", "--cycle-time-ms", "5"]).argv(PLACEMENT, ADDRESSES, 22)
    assert words[-5:] == ("--start-timeout", "30", "--autotune", "--cycle-time-ms", "5")


def test_an_elastic_launcher_asks_for_its_hosts() -> None:
    assert ElasticHorovodrun(Elastic(2, 8), 60, ["--autotune"]).argv(PLACEMENT, ADDRESSES, 12345) == (
        "horovodrun", "-np", "6", "--min-np", "2", "--max-np", "8",
        "--host-discovery-script", "/opt/hvdocker/bin/discover",
        "-p", "12345", "--gloo", "--disable-cache", "--start-timeout", "60",
        "--blacklist-cooldown-range", "1", "10", "--autotune",
    )  # fmt: skip


def test_an_elastic_launcher_without_a_bound() -> None:
    assert "--max-np" not in ElasticHorovodrun(Elastic(2)).argv(PLACEMENT, ADDRESSES, 12345)
