"""What is in the wheel and in the sdist."""

import hashlib
import subprocess
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from tests.distribution.conftest import ROOT, build

# Of no use to somebody who builds, tests or packages hvdocker.
NOT_IN_THE_SDIST = (".ci/",)


def digests(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_the_wheel_has_types_schema_image_and_demo(wheel: Path) -> None:
    wanted = {
        "hvdocker/py.typed",
        "hvdocker/__main__.py",
        "hvdocker/inventory/inventory.schema.json",
        "hvdocker/_assets/templates/ssh_config.j2",
        "hvdocker/_assets/images/doc-hvd/Dockerfile",
        "hvdocker/_assets/examples/digits/train.py",
        "hvdocker/_assets/examples/digits/digits.txt",
        "hvdocker/_assets/examples/digits/.hvdockerignore",
    }
    names = set(digests(wheel))
    assert wanted - names == set()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"hvdocker"}
    assert [name for name in names if "__pycache__" in name] == []


def test_every_dependency_has_a_lowest_and_a_highest_version(wheel: Path) -> None:
    found = [line for line in metadata(wheel).get_all("Requires-Dist", []) if "extra ==" not in line]
    assert found and [line for line in found if ">=" not in line or "<" not in line.replace("<=", "")] == []


def test_the_sdist_has_what_git_has(unpacked_sdist: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {name for name in listed.splitlines() if not name.startswith(NOT_IN_THE_SDIST)}
    packed = {path.relative_to(unpacked_sdist).as_posix() for path in unpacked_sdist.rglob("*") if path.is_file()}
    assert (tracked - packed, packed - tracked) == (set(), {"PKG-INFO"})


def test_the_wheel_of_the_sdist_is_that_of_the_checkout(wheel: Path, unpacked_sdist: Path, tmp_path: Path) -> None:
    assert digests(build("wheel", unpacked_sdist, tmp_path)) == digests(wheel)
