"""What the builder is asked for, target by target."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.images.build.build import BuildOptions, build_image

DEBIAN = "site/debian:1"
NVIDIA = "nvidia/cuda:12.5.1-devel-ubuntu22.04"
ASKED = ("dockerfile", "tag", "target", "buildargs")


@dataclass
class Builder:
    """An engine that builds nothing: it remembers what it was asked for, and can fail at a tag."""

    arch: str = "amd64"
    fails_at: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    contexts: list[list[str]] = field(default_factory=list)

    def version(self) -> dict[str, str]:
        return {"Arch": self.arch}

    def build(self, **words: Any) -> Iterator[dict[str, object]]:
        self.asked.append({word: words[word] for word in ASKED})
        with tarfile.open(fileobj=words["fileobj"]) as context:
            self.contexts.append(context.getnames())
        yield {"stream": f"Step 1 of {words['tag']}\n"}
        if words["tag"] == self.fails_at:
            yield {"error": "no space left on device"}


def built(builder: Builder, **options: Any) -> list[dict[str, Any]]:
    engine: Any = builder  # Any: stands in for an APIClient
    build_image(engine, BuildOptions(base=DEBIAN, **options), lambda text: None)
    return builder.asked


def request(target: str, dockerfile: str, **arguments: str) -> dict[str, Any]:
    words = {"BASE": DEBIAN, **arguments}
    return {"dockerfile": dockerfile, "tag": f"doc-hvd:{target}", "target": target, "buildargs": words}


BASE = request("base", "Dockerfile")


@pytest.mark.parametrize("target", ["base", "cpu"])
def test_base_and_cpu_are_targets_of_one_file(target: str) -> None:
    assert built(Builder(arch="arm64"), target=target) == [request(target, "Dockerfile")]


def test_the_gpu_image_is_built_after_base_from_a_file_of_its_own() -> None:
    builder = Builder()
    assert built(builder, target="gpu") == [BASE, request("gpu", "Dockerfile.gpu", TOOLKIT=DEBIAN)]
    assert {"./Dockerfile.gpu", "./requirements-gpu.txt", "site-ca.crt"} <= set(builder.contexts[1])


def test_a_toolkit_of_nvidias_brings_a_newer_tensorflow_along() -> None:
    gpu = request("gpu", "Dockerfile.gpu", TOOLKIT=NVIDIA, REQUIREMENTS="requirements-gpu-cuda12.txt")
    assert built(Builder(), target="gpu", cuda_image=NVIDIA) == [BASE, gpu]


def test_a_base_that_fails_stops_the_gpu_image() -> None:
    builder = Builder(fails_at="doc-hvd:base")
    with pytest.raises(HvdockerError, match=r"building doc-hvd:base failed: no space left on device") as caught:
        built(builder, target="gpu")
    assert list(caught.value.lines) == ["Step 1 of doc-hvd:base"] and builder.asked == [BASE]


def test_an_engine_for_which_there_are_no_wheels_is_refused_at_once() -> None:
    builder = Builder(arch="arm64")
    with pytest.raises(HvdockerError, match=r"doc-hvd:gpu .* amd64 only, this engine is arm64"):
        built(builder, target="gpu")
    assert builder.asked == []


def test_an_image_has_the_protocol_of_this_controller_and_nothing_else_of_it() -> None:
    builder = Builder()
    built(builder, target="base")
    ours = [name for name in builder.contexts[0] if name.startswith("lib/hvdocker")]
    assert {"lib/hvdocker/__init__.py", "lib/hvdocker/protocol/job_file.py"} <= set(ours)
    assert all(name.startswith(("lib/hvdocker/__init__.py", "lib/hvdocker/protocol")) for name in ours)
