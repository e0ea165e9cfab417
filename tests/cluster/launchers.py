"""The launchers with which tests train: the image of each, its scripts, and the fixture that chooses one.

A test file names the launchers of its tests in LAUNCHERS; without it, its jobs run with Horovod. Tests of
`make test` run with few of them, and files in tests/thorough repeat these tests with the others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TENSORFLOW_IMAGE = "doc-hvd:cpu"
TORCH_IMAGE = "doc-hvd:torch-cpu"
SMALL_IMAGE = "doc-hvd:base"
# The launcher that each image chooses by itself.
DEFAULTS = {TENSORFLOW_IMAGE: "horovod", TORCH_IMAGE: "torch", SMALL_IMAGE: "each"}


@dataclass(frozen=True)
class LauncherCase:
    """One launcher, as tests use it.

    `framework` ends the names of its scripts. `requirements` are packages on top of its image. `flags` make a
    failed rank end its job, which is the default of all launchers but one. `hanging` are the ranks that must
    hang, so that the job does."""

    name: str
    framework: str
    image: str
    requirements: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    hanging: str = "1"

    def script(self, kind: str) -> str:
        return f"code/{kind}_{self.framework}.py"

    @property
    def is_collective(self) -> bool:
        return self.name != "each"

    @property
    def settings(self) -> dict[str, Any]:
        """Keys of the inventory. The launcher is named only where the image would choose another one."""
        chosen = {} if DEFAULTS[self.image] == self.name else {"launcher": self.name}
        return {"image": self.image, **chosen}

    def write_requirements(self, folder: Path) -> None:
        if self.requirements:
            (folder / "requirements.txt").write_text("\n".join(self.requirements) + "\n")


CASES = {
    case.name: case
    for case in (
        LauncherCase("horovod", "horovod", TENSORFLOW_IMAGE),
        LauncherCase("torch", "torch", TORCH_IMAGE),
        LauncherCase("torchrun", "torch", TORCH_IMAGE),
        LauncherCase("tensorflow", "tensorflow", TENSORFLOW_IMAGE),
        LauncherCase("jax", "jax", SMALL_IMAGE, requirements=("jax", "numpy")),
        LauncherCase("mpi", "mpi", SMALL_IMAGE, requirements=("mpi4py", "numpy", "openmpi"), hanging="all"),
        LauncherCase("each", "each", SMALL_IMAGE, flags=("--fail-fast",), hanging="all"),
    )
}
HOROVOD = CASES["horovod"]


@pytest.fixture(scope="module")
def launcher(request: pytest.FixtureRequest) -> LauncherCase:
    return CASES[getattr(request, "param", HOROVOD.name)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = getattr(metafunc.module, "LAUNCHERS", ())
    if names and "launcher" in metafunc.fixturenames:
        metafunc.parametrize("launcher", names, indirect=True, scope="module")
