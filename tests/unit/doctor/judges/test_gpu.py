"""GPUs, toolkit, driver against CUDA: from probe outputs, for want of hardware."""

import pytest

from hvdocker.cluster.plan.fitness import version_numbers
from hvdocker.doctor.facts.facts import InsideSeen, TrialResult
from hvdocker.doctor.judges.gpu import CUDA_DRIVERS, DRIVER, judge_cuda, judge_gpus, judge_toolkit
from hvdocker.doctor.report import Mark
from tests.unit.doctor.judges.machine_fixtures import machine, marks


def test_a_cuda_that_nobody_can_read_is_not_known() -> None:
    assert judge_cuda("535.183.01", "v12.1").mark is Mark.UNKNOWN


def test_cards_that_are_split_and_used() -> None:
    seen = machine("a100-mig")
    assert [gpu.is_mig for gpu in seen.gpus] == [False, True]
    cards, users = judge_gpus(seen)
    assert marks([cards, users]) == {"gpus": "warn", "gpu-users": "warn"}
    assert cards.shown == "split by MIG: 2× NVIDIA A100-SXM4-40GB 40 GB, driver 535.183.01"
    assert cards.evidence[0] == "GPU 1: MIG is on" and cards.fix == "sudo nvidia-smi -i 1 -mig 0"
    assert users.shown == "in use by bob"
    assert users.evidence == ("GPU 1: pid 4711 /usr/bin/python3, with commas of bob, 38200 MB",)


def test_a_card_whose_driver_does_not_stay_loaded() -> None:
    seen = machine("old-card")
    cards, users = judge_gpus(seen)
    assert cards.mark.value == "warn" and "persistence is off" in cards.shown
    assert cards.fix == "sudo nvidia-smi -pm 1" and users.shown == "nobody"


@pytest.mark.parametrize(
    ("name", "mark", "word"),
    [
        ("nvml-mismatch", "bad", "version mismatch"),
        ("no-driver", "warn", "stay unused"),
        ("plain", "good", ""),
    ],
)
def test_hosts_without_a_working_gpu(name: str, mark: str, word: str) -> None:
    (finding,) = judge_gpus(machine(name))
    assert finding.mark.value == mark and word in " ".join(finding.evidence)
    assert mark == "good" or (finding.command and finding.fix)


def test_the_toolkit_by_what_became_of_a_container() -> None:
    seen, push = machine("a100-mig"), "hvdocker image push"
    assert judge_toolkit(machine("plain"), None, push) is None
    missing = judge_toolkit(seen, None, push)
    assert missing and (missing.mark.value, missing.fix) == ("unknown", push)
    said = 'could not select device driver "" with capabilities: [[gpu]]'
    broken = judge_toolkit(seen, TrialResult("x:y", InsideSeen(), gpu_error=said), push)
    assert broken and broken.mark.value == "bad" and broken.evidence == (said,)
    assert broken.command == "docker run --rm --network none --gpus all --entrypoint true x:y"
    fine = judge_toolkit(seen, TrialResult("x:y", InsideSeen(), has_gpus=True), push)
    assert fine and fine.mark.value == "good"
    dead = judge_toolkit(seen, TrialResult("x:y", error="no space", has_gpus=True), push)
    assert dead and dead.mark.value == "unknown"


@pytest.mark.parametrize(
    ("driver", "cuda", "mark"),
    [
        ("535.183.01", "12.2.2", "good"),
        ("535.183.01", "12.5.1", "warn"),
        ("525.60.13", "12.8", "warn"),
        ("470.223.02", "12.0", "bad"),
        ("470.223.02", "11.8", "warn"),
        ("450.80.02", "11.0", "good"),
        ("418.87.01", "10.1", "good"),
        ("418.87.01", "10.2", "bad"),
        ("580.65.06", "13.0", "good"),
        ("575.51.03", "13.0", "bad"),
        ("575.51.03", "99.1", "unknown"),
        ("[N/A]", "12.2", "unknown"),
        ("535.183.01", None, "warn"),
    ],
)
def test_the_driver_against_the_cuda_of_the_image(driver: str, cuda: str | None, mark: str) -> None:
    finding = judge_cuda(driver, cuda)
    assert finding.mark.value == mark
    if cuda and mark in ("warn", "bad"):
        assert finding.evidence[0].startswith(f"CUDA {'.'.join(cuda.split('.')[:2])} ")
        assert (finding.command, "nvidia-driver" in (finding.fix or "")) == ("nvidia-smi", True)


def test_what_is_said_of_a_driver_that_is_too_old() -> None:
    old = judge_cuda("470.223.02", "12.4.1")
    assert (old.shown, old.evidence) == (
        "CUDA 12.4 on driver 470.223.02: too old",
        ("CUDA 12.4 needs 525.60.13",),
    )
    assert old.fix == f"install driver 550.54.14 or newer: {DRIVER} && sudo reboot"
    older = judge_cuda("535.183.01", "12.5")
    assert older.evidence[0].startswith("CUDA 12.5 came with 555.42.02")
    none = judge_cuda("535.183.01", None)
    assert none.fix == "choose an `image:` with CUDA" and "GPUs stay unused" in none.evidence[0]


def test_newer_cuda_never_came_with_an_older_driver() -> None:
    by_age = sorted(CUDA_DRIVERS, key=version_numbers)
    assert [CUDA_DRIVERS[one] for one in by_age] == sorted(CUDA_DRIVERS.values(), key=version_numbers)
