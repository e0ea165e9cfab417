"""Which launcher a job gets on a cluster, and which images it is refused on. Nothing is sent to a host."""

from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.images.requirements import Requirements
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.capsule.store import StoredCapsule
from hvdocker.launchers import NAMES
from hvdocker.observe.state import ClusterState
from hvdocker.protocol.resilience import Elastic, Resilience
from hvdocker.training.inputs.request import JobInputs, TrainRequest, check_launcher
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.job_launcher import launcher_of_job, refuse_other_format, refuse_unfit_image
from tests.unit.builders import CAPSULE, host_with_worker, inventory, state_of

LAB = inventory("hosts: [a, b]")


def cluster(lab: Inventory = LAB, **labels: str) -> ClusterState:
    """Return a cluster whose workers inherited these labels, without their prefix, from their image."""
    hosts = []
    for name in ("a", "b"):
        host = host_with_worker(lab, name)
        worker = host.containers[0]
        more = {f"hvdocker.{label}": value for label, value in labels.items()}
        hosts.append(replace(host, containers=(replace(worker, labels={**worker.labels, **more}),)))
    return state_of(*hosts)


def inputs(folder: Path, script: str = "", lines: tuple[str, ...] = (), **flags: object) -> JobInputs:
    (folder / "train.py").write_text(script, encoding="utf-8")
    work = UserCommand(("python", "/train/train.py"), folder, "train", "train.py", is_script=True)
    needed = Requirements("requirements.txt", lines) if lines else None
    return JobInputs(TrainRequest(script="train.py", **flags), work, needed, {}, {})  # type: ignore[arg-type]  # flags


def refused(state: ClusterState, job: JobInputs) -> None:
    choice = launcher_of_job(LAB, job.request, state)
    refuse_unfit_image(LAB, state, ("a", "b"), choice, job, {"train.py"})


@pytest.mark.parametrize("name", NAMES)
def test_the_image_of_the_workers_decides(name: str) -> None:
    assert launcher_of_job(LAB, TrainRequest(), cluster(launcher=name)).text == f"{name} (the image's label)"
    in_inventory = inventory(f"{{hosts: [a, b], launcher: {name}}}")
    choice = launcher_of_job(in_inventory, TrainRequest(), cluster(launcher="each"))
    assert choice.text == f"{name} (launcher: in the inventory)"
    assert launcher_of_job(in_inventory, TrainRequest(launcher="mpi"), cluster()).text == "mpi (--launcher)"


def test_a_cluster_of_an_earlier_version_has_the_default() -> None:
    assert launcher_of_job(LAB, TrainRequest(), cluster()).text == "horovod (default)"


def test_a_replay_says_whose_launcher_it_takes() -> None:
    request = TrainRequest(launcher="torch", replay=StoredCapsule(CAPSULE))
    assert launcher_of_job(LAB, request, cluster(launcher="each")).text == "torch (as train-abcd)"


def test_an_unknown_launcher_in_an_inventory_is_a_problem_of_its_line() -> None:
    with pytest.raises(HvdockerError) as caught:
        inventory("{hosts: [a], launcher: warp}")
    assert any("should be a launcher: horovod, torch" in line for line in caught.value.lines)


def test_elastic_jobs_need_an_elastic_launcher() -> None:
    choice = launcher_of_job(LAB, TrainRequest(), cluster(launcher="torch"))
    with pytest.raises(UsageProblem, match="--min-np needs an elastic launcher, and this job's is torch"):
        check_launcher(choice.launcher, TrainRequest(), Resilience(elastic=Elastic(1)))


def test_a_start_timeout_is_not_ignored() -> None:
    choice = launcher_of_job(LAB, TrainRequest(), cluster(launcher="torch"))
    check_launcher(choice.launcher, TrainRequest(), Resilience())
    with pytest.raises(UsageProblem, match="--start-timeout goes with --launcher horovod"):
        check_launcher(choice.launcher, TrainRequest(start_timeout_s=120), Resilience())


@pytest.mark.parametrize(
    ("frameworks", "script", "lines", "flags", "what"),
    [
        ("torch=2.13.0", "import torch", (), {}, None),
        ("torch=2.13.0", "import horovod.torch", (), {}, "train.py imports horovod"),
        ("tensorflow=2.18", "import torch", (), {}, "the launcher torch needs torch"),
        ("tensorflow=2.18", "import torch", ("torch",), {}, None),
        ("tensorflow=2.18", "import torch", (), {"launcher": "each"}, "train.py imports torch"),
        ("tensorflow=2.18", "import torch", (), {"launcher": "each", "is_forced": True}, None),
        ("", "print()", (), {"launcher": "each"}, None),
        ("", "print()", (), {"launcher": "jax"}, "the launcher jax needs jax"),
        (None, "import torch", (), {"launcher": "jax"}, None),
    ],
)
def test_what_the_image_lacks(
    frameworks: str | None,
    script: str,
    lines: tuple[str, ...],
    flags: dict[str, object],
    what: str | None,
    tmp_path: Path,
) -> None:
    labels = {} if frameworks is None else {"frameworks": frameworks}
    state, job = cluster(launcher="torch", **labels), inputs(tmp_path, script, lines, **flags)
    if what is None:
        refused(state, job)
        return
    with pytest.raises(HvdockerError, match=what):
        refused(state, job)


def test_an_image_of_another_format_is_refused() -> None:
    refuse_other_format(LAB, cluster(), ("a", "b"))
    refuse_other_format(LAB, cluster(image="1", format="2"), ("a", "b"))
    with pytest.raises(HvdockerError, match="speaks format 1, and this hvdocker format 2"):
        refuse_other_format(LAB, cluster(image="1"), ("a", "b"))
