"""What `--gpu` and `-H` mean, and which cards are meant."""

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.placement.slots import GpuRequest, Slot
from hvdocker.placement.strategies import parse_gpu, parse_hosts_flag
from hvdocker.placement.strategies.eligible import is_eligible
from hvdocker.protocol.placement import Share


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("A100", GpuRequest("A100")),
        ("A100:80GB", GpuRequest("A100", 81920)),
        ("a100:80g", GpuRequest("a100", 81920)),
        ("RTX 3090:24 GiB", GpuRequest("RTX 3090", 24576)),
        (":80GB", GpuRequest("", 81920)),
        ("80GB", GpuRequest("", 81920)),
        ("512MB", GpuRequest("", 512)),
        ("none", GpuRequest(is_none=True)),
        ("None", GpuRequest(is_none=True)),
        # No unit: the name of a card.
        ("3090", GpuRequest("3090")),
    ],
)
def test_a_wish(text: str, wish: GpuRequest) -> None:
    assert parse_gpu(text) == wish


@pytest.mark.parametrize("text", ["", " ", ":", "A100:", "A100:80", "A100:big", "A100:80GB:2", "-", "0GB", "A100:0GB"])
def test_a_wish_that_says_nothing_clear(text: str) -> None:
    with pytest.raises(UsageProblem, match="--gpu should look like A100, A100:80GB, 80GB or none"):
        parse_gpu(text)


# As nvidia-smi reports them: name, memory in MiB.
A100_80 = ("NVIDIA A100-SXM4-80GB", 81920)
A100_80_NEW = ("NVIDIA A100 80GB PCIe", 81559)
A100_40 = ("NVIDIA A100-PCIE-40GB", 40536)
H100 = ("NVIDIA H100 80GB HBM3", 81559)
A10 = ("NVIDIA A10", 23028)
A40 = ("NVIDIA A40", 46068)
L4 = ("NVIDIA L4", 23034)
T4 = ("Tesla T4", 15109)
V100 = ("Tesla V100-SXM2-16GB", 16160)
RTX3090 = ("NVIDIA GeForce RTX 3090", 24268)
GTX1080 = ("NVIDIA GeForce GTX 1080 Ti", 11178)
MIG = ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9728)
ALL = (A100_80, A100_80_NEW, A100_40, H100, A10, A40, L4, T4, V100, RTX3090, GTX1080, MIG)


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("A100", (A100_80, A100_80_NEW, A100_40, MIG)),
        ("a100:80GB", (A100_80, A100_80_NEW)),
        ("A100:40GB", (A100_80, A100_80_NEW, A100_40)),
        ("a10", (A10,)),
        ("L40", ()),
        ("nvidia a40", (A40,)),
        ("A40:48GB", (A40,)),
        ("RTX 3090", (RTX3090,)),
        ("rtx3090", (RTX3090,)),
        ("3090", (RTX3090,)),
        ("309", ()),
        ("rtx", (RTX3090,)),
        ("GTX1080Ti", (GTX1080,)),
        ("1g.10gb", (MIG,)),
        ("80GB", (A100_80, A100_80_NEW, H100)),
        (":24GB", (A100_80, A100_80_NEW, A100_40, H100, A10, A40, L4, RTX3090)),
        ("16GB", (A100_80, A100_80_NEW, A100_40, H100, A10, A40, L4, T4, V100, RTX3090)),
        # A card of 11 GB is none of 12.
        ("12GB", (A100_80, A100_80_NEW, A100_40, H100, A10, A40, L4, T4, V100, RTX3090)),
    ],
)
def test_which_cards_are_meant(text: str, cards: tuple[tuple[str, int], ...]) -> None:
    wish = parse_gpu(text)
    assert tuple(card for card in ALL if is_eligible(Slot("GPU-1", *card), wish, True)) == cards


def test_a_memory_that_nobody_knows_is_not_enough() -> None:
    assert not is_eligible(Slot("GPU-1", "NVIDIA A100"), GpuRequest("A100", 1024), True)
    assert is_eligible(Slot("GPU-1", "NVIDIA A100"), GpuRequest("A100"), True)


def test_horovods_own_hosts_flag() -> None:
    assert parse_hosts_flag("a:2, b:1", ["a", "b"]) == (Share("a", 2), Share("b", 1))


def test_other_words_for_hosts() -> None:
    aliases = {"10.0.0.11": "a", "fd00::12": "b", "b": "never: it is a name"}
    assert parse_hosts_flag("10.0.0.11:2,[fd00::12]:1", ["a", "b"], aliases) == (Share("a", 2), Share("b", 1))
    assert parse_hosts_flag("b:1", ["a", "b"], aliases) == (Share("b", 1),)


@pytest.mark.parametrize(
    ("text", "hosts", "first"),
    [
        ("localhost:4,b:1", ("a", "b"), "a"),
        ("localhost:4,a:1", ("a", "b"), "b"),
        ("localhost:4,10.0.0.11:1", ("a", "b"), "b"),
        ("localhost:4", ("b", "localhost"), "localhost"),
    ],
)
def test_localhost_is_the_first_host_that_is_not_named(text: str, hosts: tuple[str, ...], first: str) -> None:
    aliases = {"10.0.0.11": "a", "localhost": "b"}
    assert parse_hosts_flag(text, hosts, aliases)[0] == Share(first, 4)


@pytest.mark.parametrize(
    "text",
    ["a", "a:", ":2", "a:0", "a:-1", "a:two", "a:1,", "", "a:1,,b:1", "a:2,a:1", "localhost:1,a:1,b:1",
     "localhost:1,localhost:1", "10.0.0.11:1,a:1", "a:²"],
)  # fmt: skip
def test_a_hosts_flag_that_says_nothing_clear(text: str) -> None:
    with pytest.raises(UsageProblem, match="-H"):
        parse_hosts_flag(text, ["a", "b"], {"10.0.0.11": "a"})
