"""What the builder is asked for, target by target."""

import json
import tarfile
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.images.build.build import INFINIBAND_PACKAGES, BuildOptions, build_image
from hvdocker.images.build.wheel_server import PORT

DEBIAN = "site/debian:1"
NVIDIA = "nvidia/cuda:12.5.1-devel-ubuntu22.04"
ASKED = ("dockerfile", "target", "buildargs")
CPU_WHEEL = "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
PYTHON = {"path": "/p", "version": "3.11.2", "packages": {"torch": "2.13.0+cpu"}}
FOUND = json.dumps({"pythons": [PYTHON], "openmpi": "", "closed": []}).encode()


@dataclass
class Builder:
    """An engine that builds nothing: it remembers what it was asked for, and can fail at a stage."""

    arch: str = "amd64"
    fails_at: str = ""
    base_url: str = "http+docker://localhost"
    asked: list[dict[str, Any]] = field(default_factory=list)
    contexts: list[list[str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    tags: list[tuple[str, str]] = field(default_factory=list)

    def version(self) -> dict[str, str]:
        return {"Arch": self.arch}

    def build(self, **words: Any) -> Iterator[dict[str, object]]:
        with tarfile.open(fileobj=words["fileobj"]) as context:
            if words["target"] is None:
                file = context.extractfile("Dockerfile")
                self.labels.append(file.read().decode() if file else "")
            else:
                self.asked.append({word: words[word] for word in ASKED})
                self.contexts.append(context.getnames())
        yield {"stream": f"Step 1 of {words['target']}\n"}
        if words["target"] == self.fails_at:
            yield {"error": "no space left on device"}
        yield {"stream": "Successfully built 0123456789ab\n"}

    def tag(self, image: str, repository: str, tag: str, force: bool) -> None:
        self.tags.append((image, f"{repository}:{tag}"))

    def create_host_config(self, **settings: Any) -> dict[str, Any]:
        return settings

    def create_container(self, image: str, **settings: Any) -> dict[str, str]:
        return {"Id": "trial"}

    def start(self, container: str) -> None: ...

    def wait(self, container: str, timeout: int) -> dict[str, int]:
        return {"StatusCode": 0}

    def logs(self, container: str, **which: bool) -> bytes:
        return FOUND

    def remove_container(self, container: str, **how: bool) -> None: ...


def built(builder: Builder, environ: Mapping[str, str], **options: Any) -> list[dict[str, Any]]:
    engine: Any = builder  # Any: stands in for an APIClient
    build_image(engine, BuildOptions(base=DEBIAN, environ=environ, **options), lambda text: None)
    return builder.asked


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A cache of this test alone, and a pip that reaches no index."""
    return {"XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null", "PATH": "/usr/bin"}


def request(target: str, dockerfile: str, **arguments: str) -> dict[str, Any]:
    return {"dockerfile": dockerfile, "target": target, "buildargs": {"BASE": DEBIAN, **arguments}}


BASE = request("base", "Dockerfile")


@pytest.mark.parametrize(("target", "stage"), [("base", "base"), ("cpu", "cpu"), ("tensorflow-cpu", "cpu")])
def test_base_and_cpu_are_targets_of_one_file(target: str, stage: str, environ: dict[str, str]) -> None:
    builder = Builder(arch="arm64")
    assert built(builder, environ, target=target) == [request(stage, "Dockerfile")]
    assert builder.tags == [("0123456789ab", f"doc-hvd:{stage}")]


def test_the_gpu_image_is_built_after_base_from_a_file_of_its_own(environ: dict[str, str]) -> None:
    builder = Builder()
    assert built(builder, environ, target="tensorflow") == [BASE, request("gpu", "Dockerfile.gpu", TOOLKIT=DEBIAN)]
    assert {"./Dockerfile.gpu", "./requirements-gpu.txt", "site-ca.crt"} <= set(builder.contexts[1])


def test_a_toolkit_of_nvidias_brings_a_newer_tensorflow_along(environ: dict[str, str]) -> None:
    gpu = request("gpu", "Dockerfile.gpu", TOOLKIT=NVIDIA, REQUIREMENTS="requirements-gpu-cuda12.txt")
    assert built(Builder(), environ, target="gpu", cuda_image=NVIDIA) == [BASE, gpu]


def test_a_base_that_fails_stops_the_gpu_image(environ: dict[str, str]) -> None:
    builder = Builder(fails_at="base")
    with pytest.raises(HvdockerError, match=r"building doc-hvd:base failed: no space left on device") as caught:
        built(builder, environ, target="gpu")
    assert list(caught.value.lines) == ["Step 1 of base"] and builder.asked == [BASE]


def test_an_engine_for_which_there_are_no_wheels_is_refused_at_once(environ: dict[str, str]) -> None:
    builder = Builder(arch="arm64")
    with pytest.raises(HvdockerError, match=r"doc-hvd:gpu .* amd64 only, this engine is arm64"):
        built(builder, environ, target="gpu")
    assert builder.asked == []


def test_an_image_has_the_protocol_of_this_controller_and_nothing_else_of_it(environ: dict[str, str]) -> None:
    builder = Builder()
    built(builder, environ, target="base")
    ours = [name for name in builder.contexts[0] if name.startswith("lib/hvdocker")]
    assert {"lib/hvdocker/__init__.py", "lib/hvdocker/protocol/job_file.py"} <= set(ours)
    assert all(name.startswith(("lib/hvdocker/__init__.py", "lib/hvdocker/protocol")) for name in ours)


def test_torch_takes_the_ordinary_wheel_and_infiniband(environ: dict[str, str]) -> None:
    packages = {"REQUIREMENTS": "requirements-torch.txt", "PACKAGES": INFINIBAND_PACKAGES}
    assert built(Builder(), environ, target="torch") == [BASE, request("torch", "Dockerfile.torch", **packages)]


def cpu_build(requirements: str) -> dict[str, Any]:
    return request("torch", "Dockerfile.torch", REQUIREMENTS=requirements, PACKAGES="")


def test_torch_cpu_takes_a_cpu_build_of_the_wheelhouse(tmp_path: Path, environ: dict[str, str]) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / CPU_WHEEL).touch()
    builder = Builder()
    asked = built(builder, environ, target="torch-cpu", wheelhouse=house)
    assert asked == [BASE, cpu_build("requirements-torch-cpu.txt")]
    assert f"wheelhouse/{CPU_WHEEL}" in builder.contexts[1]
    assert builder.tags[1] == ("0123456789ab", "doc-hvd:torch-cpu")


def test_a_cpu_build_for_another_python_in_the_wheelhouse_is_not_taken(tmp_path: Path, environ: dict[str, str]) -> None:
    house, said = tmp_path / "house", list[str]()
    house.mkdir()
    (house / CPU_WHEEL.replace("cp311", "cp312")).touch()
    engine: Any = Builder()  # Any: as above
    build_image(engine, BuildOptions("torch-cpu", wheelhouse=house, base=DEBIAN, environ=environ), said.append)
    assert engine.asked[1] == cpu_build("requirements-torch.txt")
    assert any(line.endswith("of the wheelhouse is not for Python 3.11 on Linux amd64") for line in said)


def test_a_cpu_build_of_the_cache_travels_to_another_machine_only(tmp_path: Path, environ: dict[str, str]) -> None:
    cache = tmp_path / "hvdocker" / "wheels"
    cache.mkdir(parents=True)
    (cache / CPU_WHEEL).touch()
    for is_here, is_sent in ((True, False), (False, True)):
        builder = Builder()
        assert built(builder, environ, target="torch-cpu", is_here=is_here)[1] == cpu_build(
            "requirements-torch-cpu.txt"
        )
        assert (f"wheelhouse/{CPU_WHEEL}" in builder.contexts[1]) is is_sent


def test_without_a_cpu_build_torch_cpu_takes_the_ordinary_wheel_and_says_so(environ: dict[str, str]) -> None:
    builder, said = Builder(), list[str]()
    engine: Any = builder  # Any: as above
    build_image(engine, BuildOptions("torch-cpu", base=DEBIAN, environ=environ), said.append)
    assert builder.asked[1] == cpu_build("requirements-torch.txt")
    assert any(line.startswith("torch-cpu takes PyTorch's ordinary wheel, with CUDA") for line in said)


class AskingBuilder(Builder):
    """A builder whose build asks the controller for wheels, as venv-pip does."""

    def build(self, **words: Any) -> Iterator[dict[str, object]]:
        for address in (words["extra_hosts"] or {}).values():
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            yield {"stream": f"offered: {opener.open(f'http://{address}:{PORT}/').read()!r}\n"}
        yield from super().build(**words)


def test_a_build_goes_on_without_a_cache_that_cannot_be_written_and_says_so(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "hvdocker").write_text("a file where the folder has to be")
    said: list[str] = []
    engine: Any = AskingBuilder()  # Any: as above
    build_image(engine, BuildOptions("cpu", base=DEBIAN, is_here=True, environ=environ), said.append)
    assert "offered: b''" in said and engine.tags == [("0123456789ab", "doc-hvd:cpu")]
    (note,) = (line for line in said if line.startswith("note: "))
    assert note.startswith(f"note: wheels cannot be downloaded into {tmp_path}/hvdocker/wheels: Not a directory; ")


def test_what_could_not_be_looked_at_is_not_called_empty(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A label without PyTorch would make `train` refuse the image."""
    builder = Builder()
    monkeypatch.setattr(builder, "logs", lambda *_, **__: b"")
    built(builder, environ, target="torch")
    assert "hvdocker.format" in builder.labels[-1] and "hvdocker.frameworks" not in builder.labels[-1]


def test_labels_say_format_launcher_and_what_is_in_the_image(environ: dict[str, str]) -> None:
    builder = Builder()
    built(builder, environ, target="torch-cpu")
    first = 'hvdocker.image="1" hvdocker.format="2"'
    assert builder.labels == [
        f'FROM 0123456789ab\nLABEL {first} hvdocker.launcher="each" hvdocker.frameworks=""\n',
        f'FROM 0123456789ab\nLABEL {first} hvdocker.launcher="torch" hvdocker.frameworks="torch=2.13.0+cpu"\n',
    ]
