"""The Dockerfiles and the locks beside them: what is the same in both, what has to be there."""

import re
from pathlib import Path

import pytest

IMAGE = Path(__file__).parents[3] / "images" / "doc-hvd"
WITH_HOROVOD = ("Dockerfile", "Dockerfile.gpu")
DOCKERFILES = (*WITH_HOROVOD, "Dockerfile.torch")
LOCKS = ("requirements-cpu.txt", "requirements-gpu.txt", "requirements-gpu-cuda12.txt")


def instructions(name: str) -> list[str]:
    """Whole instructions, without comments."""
    lines = (line for line in (IMAGE / name).read_text().splitlines() if not line.startswith("#"))
    return [one.strip() for one in re.split(r"\n(?=[A-Z])", "\n".join(lines)) if one.strip()]


def stage(name: str, wanted: str) -> list[str]:
    lines = instructions(name)
    start = next(number for number, line in enumerate(lines) if line.endswith(f" AS {wanted}"))
    rest = lines[start + 1 :]
    return rest[: next((number for number, line in enumerate(rest) if line.startswith("FROM ")), len(rest))]


def pins(name: str) -> dict[str, str]:
    lines = [line for line in (IMAGE / name).read_text().splitlines() if line and not line.startswith("#")]
    assert all("==" in line.split(";")[0] for line in lines)
    return {line.partition("==")[0]: line.partition("==")[2] for line in lines}


def test_the_gpu_image_stands_on_the_same_layer_as_the_others() -> None:
    """An engine finds a layer again by the words that made it."""
    assert stage("Dockerfile", "os") == stage("Dockerfile.gpu", "os") == stage("Dockerfile.torch", "os")
    assert stage("Dockerfile", "build")[0] == stage("Dockerfile.gpu", "build")[0]


def test_images_for_training_end_alike() -> None:
    """Programs on top of all that is large, then only settings."""
    torch = ("Dockerfile.torch", "torch", "programs")
    for name, target, source in (("Dockerfile", "cpu", "base"), ("Dockerfile.gpu", "gpu", "programs"), torch):
        end = stage(name, target)[-5:]
        assert end[0] == f"COPY --from={source} /opt/hvdocker /opt/hvdocker"
        assert end[1:] == stage("Dockerfile", "base")[-5:-4] + stage("Dockerfile", "base")[-3:]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_what_is_copied_is_there(name: str) -> None:
    copied = [word for line in instructions(name) if line.startswith("COPY ") for word in line.split()[1:-1]]
    made = {"site-ca.crt", "wheelhouse"}
    files = [word for word in copied if word[0] not in "-/$" and word not in made]
    assert files and [file for file in files if not (IMAGE / file).exists()] == []


@pytest.mark.parametrize("name", DOCKERFILES)
def test_versions_stand_in_the_locks_only(name: str) -> None:
    assert "==2." not in (IMAGE / name).read_text()


@pytest.mark.parametrize("name", WITH_HOROVOD)
def test_tools_come_after_horovod_so_that_a_new_one_costs_no_build_of_it(name: str) -> None:
    build = stage(name, "build")
    horovod = next(number for number, line in enumerate(build) if "horovod.txt" in line)
    tools = [number for number, line in enumerate(build) if "requirements-tools.txt" in line]
    assert len(tools) == 2 and min(tools) > horovod
    assert list(pins("requirements-tools.txt")) == ["py-spy"]


def test_every_python_of_every_image_can_be_asked_for_its_stacks() -> None:
    assert "COPY stacks /usr/local/lib/python3.11/dist-packages" in stage("Dockerfile", "base")
    for name, target, source in (("Dockerfile", "cpu", "base"), ("Dockerfile.gpu", "gpu", "programs")):
        (venv,) = [line for line in stage(name, "build") if "patch-horovod /opt/venv" in line]
        assert "cp stacks/*.py stacks/*.pth" in venv or "stacks/*.py stacks/*.pth /opt/venv" in venv
        system = "/usr/local/lib/python3.11"
        assert f"COPY --from={source} {system} {system}" in stage(name, target)


def test_the_two_locks_of_pytorch_differ_by_cuda_only() -> None:
    cuda, cpu = pins("requirements-torch.txt"), pins("requirements-torch-cpu.txt")
    assert cpu.pop("torch") == f"{cuda.pop('torch').lstrip('=')}+cpu"
    own = ("nvidia-", "cuda-", "triton")
    assert {name: pin for name, pin in cuda.items() if not name.startswith(own)} == cpu


def test_every_lock_is_exact_and_has_the_same_horovod() -> None:
    assert len({pins(name)["horovod"] for name in LOCKS}) == 1


def test_the_lock_for_cuda_12_is_that_of_the_cpu_image_with_cuda() -> None:
    cpu, gpu = pins("requirements-cpu.txt"), pins("requirements-gpu-cuda12.txt")
    assert cpu.pop("tensorflow-cpu").startswith("2.18.1;") and cpu.pop("tensorflow").startswith("2.18.1;")
    assert gpu.pop("tensorflow") == "2.18.1"
    assert {name: pin for name, pin in gpu.items() if not name.startswith("nvidia-")} == cpu


@pytest.mark.parametrize(("lock", "version"), [(LOCKS[1], "11"), (LOCKS[2], "12")])
def test_a_lock_has_the_libraries_of_one_cuda(lock: str, version: str) -> None:
    ours = {name.removeprefix("nvidia-") for name in pins(lock) if name.startswith("nvidia-")}
    assert {name.rpartition("-cu")[2] for name in ours} == {version}
    needed = (
        "cublas",
        "cuda-nvcc",
        "cuda-runtime",
        "cudnn",
        "cufft",
        "curand",
        "cusolver",
        "cusparse",
        "nccl",
    )
    assert {f"{name}-cu{version}" for name in needed} <= ours
