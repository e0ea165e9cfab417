from hvdocker.commands.launch import Horovodrun
from hvdocker.model.placement import Placement, Share

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
