"""Folders of workers on a host, for which a folder of this machine stands."""

from pathlib import Path

from hvdocker.cluster.steps import MakeFolders
from hvdocker.plan.apply import Context, apply, roll_back
from hvdocker.plan.plan import plan_of
from hvdocker.transport.local_link import LocalLink
from tests.unit.builders import inventory


def make_and_roll_back(root: Path) -> None:
    context = Context(inventory(), {"a": LocalLink("a")})
    apply(plan_of("train", "lab", ("files", [MakeFolders("a", str(root), (f"{root}/out",))])), context)
    assert (root / "out").is_dir()
    roll_back(context)


def test_a_first_job_that_is_interrupted_leaves_the_folder_that_workers_have_mounted(tmp_path: Path) -> None:
    jobs = tmp_path / ".hvdocker" / "lab" / "jobs"
    jobs.mkdir(parents=True)
    mounted = jobs.stat().st_ino
    make_and_roll_back(jobs / "train-abcd")
    assert jobs.stat().st_ino == mounted and list(jobs.iterdir()) == []


def test_a_first_up_that_fails_leaves_nothing(tmp_path: Path) -> None:
    make_and_roll_back(tmp_path / ".hvdocker" / "lab")
    assert list(tmp_path.iterdir()) == []
