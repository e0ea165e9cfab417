"""Requirements on an image that has no pip, by the engine of this machine."""

import os
import secrets
import zipfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from hvdocker.images.build.context import site_ca_bundle
from hvdocker.images.build.requirements_layer import build_layer
from hvdocker.images.requirements import Requirements, Wheel
from hvdocker.images.steps import BuildLayer
from hvdocker.observe.state import image_content
from hvdocker.plan.plan import CONTROLLER
from tests.cluster.lab_cluster import SMALL_IMAGE


@pytest.fixture
def engine() -> docker.APIClient:
    return docker.APIClient()


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    """A package that is nowhere but in a folder of this machine."""
    path = tmp_path / "hvdocker_probe-1.0-py3-none-any.whl"
    info = "hvdocker_probe-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("hvdocker_probe.py", "answer = 42\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: hvdocker-probe\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return Wheel(str(path), "ab")


@pytest.fixture
def step(engine: docker.APIClient, wheel: Wheel) -> Iterator[BuildLayer]:
    key = f"test{secrets.token_hex(4)}"
    base = engine.inspect_image(SMALL_IMAGE)
    asked = Requirements("/me/requirements.txt", ("tabulate==0.9.0", "hvdocker-probe"), (), (wheel,))
    yield BuildLayer(CONTROLLER, f"hvdocker-req:{key}", base["Id"], image_content(base), key, asked)
    assert engine.containers(all=True, filters={"label": f"hvdocker.requirements={key}"}) == []
    if engine.images(f"hvdocker-req:{key}"):
        engine.remove_image(f"hvdocker-req:{key}")


def run(engine: docker.APIClient, image: str, *argv: str, user: str) -> tuple[int, str]:
    made = engine.create_container(image, list(argv), user=user)["Id"]
    try:
        engine.start(made)
        code = engine.wait(made)["StatusCode"]
        return code, engine.logs(made).decode()
    finally:
        engine.remove_container(made, force=True)


def site_ca() -> bytes:
    bundle = site_ca_bundle(os.environ)
    return bundle.read_bytes() if bundle else b""


def test_an_image_without_pip_gets_the_packages_and_keeps_its_settings(
    engine: docker.APIClient, step: BuildLayer
) -> None:
    said: list[str] = []
    build_layer(engine, step, site_ca(), said.append)
    assert "Successfully installed hvdocker-probe-1.0 tabulate-0.9.0" in said
    base, made = engine.inspect_image(step.base), engine.inspect_image(step.image)
    assert made["RootFS"]["Layers"][:-1] == base["RootFS"]["Layers"]
    labels = {"hvdocker.requirements": step.key, "hvdocker.base": step.content}
    assert made["Config"]["Labels"] == {**base["Config"]["Labels"], **labels}
    for setting in ("Entrypoint", "Cmd", "Env", "User", "WorkingDir"):
        assert made["Config"][setting] == base["Config"][setting]
    told = "import tabulate, os, sys; print(tabulate.__version__, os.access(sys.prefix, os.W_OK))"
    assert run(engine, step.image, "python", "-c", told, user="1000:1000") == (0, "0.9.0 False\n")
    assert run(engine, step.image, "ls", "/tmp", "/var/lib/apt/lists", user="0") == (
        0,
        "/tmp:\n\n/var/lib/apt/lists:\n",
    )


def test_an_interrupted_build_leaves_nothing(engine: docker.APIClient, step: BuildLayer) -> None:
    """At the first sign of life, which comes while pip is silent too."""

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_layer(engine, step, site_ca(), interrupt)
    assert engine.images(step.image) == []
