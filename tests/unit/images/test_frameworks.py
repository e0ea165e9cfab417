"""Which frameworks images are searched for: those of all launchers."""

import pytest

from hvdocker.images.frameworks import FRAMEWORKS, searched_frameworks
from hvdocker.launchers import LAUNCHERS, NAMES
from hvdocker.launchers.launcher import Launcher


class Added(Launcher):
    name = "added"
    frameworks = ("numpy", "its-framework")
    default_for = "its-default"


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=NAMES)
def test_an_image_is_searched_for_what_a_launcher_needs(launcher: Launcher) -> None:
    assert {*launcher.frameworks, launcher.default_for} - {""} <= {*FRAMEWORKS}


def test_a_new_launcher_adds_its_frameworks_by_itself() -> None:
    assert searched_frameworks((*LAUNCHERS, Added())) == (*FRAMEWORKS, "its-framework", "its-default")


def test_labels_of_images_that_exist_stay_as_they_are() -> None:
    assert FRAMEWORKS[:10] == (
        "tensorflow", "keras", "horovod", "torch", "lightning", "accelerate", "jax", "mpi4py", "openmpi", "numpy",
    )  # fmt: skip
