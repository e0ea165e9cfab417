"""doc-hvd:gpu as `make gpu-image` leaves it on this machine's engine: what shows without a GPU."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import pytest

from tests.cluster.cli import Cli
from tests.cluster.images import assert_programs_on_top
from tests.cluster.training import SCRIPTS, rank_reports

IMAGE = "doc-hvd:gpu"
# Everything that TensorFlow and Horovod open by name on a GPU, but for the driver's own libcuda.so.1.
LIBRARIES = (
    "libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcudnn.so.8", "libcufft.so.10",
    "libcurand.so.10", "libcusolver.so.11", "libcusparse.so.11", "libcupti.so.11.8", "libnccl.so.2",
    "libibverbs.so.1", "librdmacm.so.1",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def engine() -> docker.APIClient:
    client = docker.APIClient()
    try:
        client.inspect_image(IMAGE)
    except docker.errors.ImageNotFound:
        pytest.fail(f"there is no {IMAGE} on this machine's engine: make gpu-image")
    return client


def inside(*words: str) -> str:
    """As a rank has it: without root, and without the image's own environment but the PATH."""
    lead = ("docker", "run", "--rm", "--user", "4321:4321", "--entrypoint", "/usr/bin/env", IMAGE)
    path = "PATH=/opt/venv/bin:/usr/bin:/bin"
    done = subprocess.run([*lead, "-i", path, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_horovod_has_nccl_and_gloo_and_no_mpi() -> None:
    lines = [line.strip() for line in inside("horovodrun", "--check-build").splitlines()]
    ticked = {line.removeprefix("[X] ") for line in lines if line.startswith("[X] ")}
    # Horovod 0.28 ticks PyTorch wherever its own package for it imports, with or without PyTorch.
    assert ticked - {"PyTorch"} == {"TensorFlow", "NCCL", "Gloo"}


def test_every_library_of_cuda_is_found_by_its_name() -> None:
    program = "import ctypes, sys; [ctypes.CDLL(name) for name in sys.argv[1:]]; print('all')"
    assert inside("python", "-c", program, *LIBRARIES) == "all\n"


def test_tensorflow_was_built_for_these_libraries_and_xla_finds_its_own() -> None:
    program = """
import json, pathlib, tensorflow as tf
beside = pathlib.Path(tf.__file__).parent / "../nvidia/cuda_nvcc"
build = tf.sysconfig.get_build_info()
libdevice = (beside / "nvvm/libdevice/libdevice.10.bc").is_file()
print(json.dumps([build["cuda_version"], build["cudnn_version"], libdevice]))
"""
    assert json.loads(inside("python", "-c", program)) == ["11.8", "8", True]
    assert "release 11.8" in inside("/opt/venv/lib/python3.11/site-packages/nvidia/cuda_nvcc/bin/ptxas", "--version")


def test_the_toolkit_stayed_in_the_build_stage() -> None:
    tools = [
        "nvcc",
        "cicc",
        "g++",
        "g++-11",
        "gcc",
        "cc1plus",
        "cmake",
        "cuda_runtime.h",
        "libcudart_static.a",
    ]
    named = " -o ".join(f"-name {tool}" for tool in tools)
    assert inside("sh", "-c", f"find /usr /opt \\( {named} \\) ! -type d") == ""


def test_a_change_of_our_programs_costs_little(engine: docker.APIClient) -> None:
    history = engine.history(IMAGE)
    assert_programs_on_top(history)
    # CUDA's libraries and TensorFlow are layers of their own, so that one can change without the other.
    assert len([layer for layer in history if layer["Size"] > 1_000_000_000]) == 2
    layers = {name: engine.inspect_image(name)["RootFS"]["Layers"] for name in (IMAGE, "doc-hvd:base")}
    assert layers[IMAGE][:2] == layers["doc-hvd:base"][:2]


def test_a_driver_is_asked_for_computing_only(engine: docker.APIClient) -> None:
    environment = engine.inspect_image(IMAGE)["Config"]["Env"]
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in environment
    assert not [one for one in environment if one.startswith("NVIDIA_VISIBLE_DEVICES")]


@pytest.fixture
def folder(cli: Cli) -> Iterator[Path]:
    path = cli.cwd / "gpu-image"
    shutil.copytree(SCRIPTS, path)
    yield path
    cli.run("down", "-y", "--discard", cwd=path)


def test_it_trains_where_there_is_no_gpu(cli: Cli, folder: Path) -> None:
    cli.run("up", "--local", "2", "--image", IMAGE, cwd=folder, check=0)
    ranks = rank_reports(cli.run("train", "weights.py", "-np", "2", cwd=folder, check=0).out)
    assert [(rank["rank"], rank["size"]) for rank in ranks] == [(0, 2), (1, 2)]
    assert len({rank["weights"] for rank in ranks}) == 1 and len({rank["address"] for rank in ranks}) == 2
    assert all(rank["losses"][-1] < rank["losses"][0] for rank in ranks)
    assert {rank["keras"] for rank in ranks} == {"2.14.0"}
