"""The table of image targets, and the names by which images are meant."""

import pytest

from hvdocker import assets, names
from hvdocker.errors import UsageProblem
from hvdocker.images.targets import TARGETS, build_command, find_target, from_command
from tests.unit.builders import inventory


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("cpu", "doc-hvd:cpu"),
        ("tensorflow-cpu", "doc-hvd:cpu"),
        ("doc-hvd:tensorflow-cpu", "doc-hvd:cpu"),
        ("doc-hvd:cpu", "doc-hvd:cpu"),
        ("gpu", "doc-hvd:gpu"),
        ("tensorflow", "doc-hvd:gpu"),
        ("torch", "doc-hvd:torch"),
        ("torch-cpu", "doc-hvd:torch-cpu"),
        ("torch:latest", "torch:latest"),
        ("team/torch", "team/torch"),
        ("doc-hvd:7", "doc-hvd:7"),
    ],
)
def test_a_short_name_is_the_tag_that_engines_have(name: str, tag: str) -> None:
    assert names.image_tag(name) == tag
    assert inventory(f"hosts: [a]\nimage: {name}\n").image == tag


def test_every_short_name_is_a_target_and_every_target_has_its_files() -> None:
    assert {name for target in TARGETS for name in target.aliases} == set(names.SHORT_IMAGE_NAMES)
    assert tuple(target.tag for target in TARGETS) == names.OWN_IMAGES
    for target in TARGETS:
        assert all((assets.image_dir() / name).is_file() for name in (target.dockerfile, *target.requirements))
        assert f" AS {target.stage}\n" in (assets.image_dir() / target.dockerfile).read_text()


def test_targets_by_name_with_their_launchers() -> None:
    found = {name: find_target(name) for name in ("base", "cpu", "tensorflow", "torch", "doc-hvd:torch-cpu")}
    assert {name: (target.name, target.hardware, target.launcher) for name, target in found.items()} == {
        "base": ("base", "cpu", "each"),
        "cpu": ("tensorflow-cpu", "cpu", "horovod"),
        "tensorflow": ("tensorflow", "cuda", "horovod"),
        "torch": ("torch", "cuda", "torch"),
        "doc-hvd:torch-cpu": ("torch-cpu", "cpu", "torch"),
    }
    with pytest.raises(UsageProblem, match="there is no target 'jax'"):
        find_target("jax")


def test_commands_that_are_suggested() -> None:
    assert build_command("doc-hvd:torch-cpu") == "hvdocker image build --target torch-cpu"
    assert from_command("my team/x") == "hvdocker image build --from 'my team/x'"
