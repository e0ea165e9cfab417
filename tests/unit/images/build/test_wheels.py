"""Wheels of the controller's cache: which fit, and how a build gets them."""

import urllib.error
import urllib.request
from pathlib import Path

import pytest

from hvdocker import assets
from hvdocker.errors import HvdockerError
from hvdocker.images.build.torch_wheel import lock_pins
from hvdocker.images.build.wheel_cache import WheelCache
from hvdocker.images.build.wheel_names import PYTHON_VERSION, Pin, parse_pins, platforms, wheels_of
from hvdocker.images.build.wheel_server import PORT, served_wheels
from hvdocker.images.targets import TARGETS

LOCK = """\
# A comment
torch===2.13.0
typing_extensions==4.16.0   # why
tensorflow-cpu==2.18.1; platform_machine == "x86_64"
"""
TORCH, TYPING, TENSORFLOW = parse_pins(LOCK)


def test_a_lock_is_read_line_by_line() -> None:
    assert Pin("torch", "2.13.0", "torch===2.13.0") == TORCH
    assert (TYPING.name, TYPING.version) == ("typing-extensions", "4.16.0")
    assert TENSORFLOW.line == 'tensorflow-cpu==2.18.1; platform_machine == "x86_64"'


def test_every_lock_of_a_target_is_exact() -> None:
    for target in TARGETS:
        text = "".join((assets.image_dir() / name).read_text() for name in target.requirements)
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert [pin.line for pin in lock_pins(target.requirements)] == lines


@pytest.mark.parametrize(
    ("wheel", "pin"),
    [
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", TORCH),
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", None),
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_aarch64.whl", None),
        ("typing_extensions-4.16.0-py3-none-any.whl", TYPING),
        ("typing_extensions-4.16.0.tar.gz", None),
        ("tensorflow_cpu-2.18.1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", TENSORFLOW),
        ("torchvision-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", None),
        ("torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl", None),
        ("torch-2.13.0-cp310-cp310-manylinux_2_28_x86_64.whl", None),
        ("torch-2.13.0-cp313-cp313t-manylinux_2_28_x86_64.whl", None),
        ("torch-2.13.0-pp311-pypy311_pp73-manylinux_2_28_x86_64.whl", None),
        ("torch-2.13.0-cp311-none-macosx_11_0_arm64.whl", None),
        ("torch-2.13.0-cp311-cp311-musllinux_1_2_x86_64.whl", None),
        ("torch-2.13.0-cp311-cp311-manylinux_2_39_x86_64.whl", None),
        ("torch-2.13.0-cp311-cp311-linux_x86_64.whl", TORCH),
        ("torch-2.13.0-1-cp311-cp311-linux_x86_64.whl", TORCH),
        ("torch-2.13.0-cp38-abi3-manylinux2014_x86_64.whl", TORCH),
        ("torch-2.13.0-cp312-abi3-manylinux2014_x86_64.whl", None),
        ("typing_extensions-4.16.0-py2.py3-none-any.whl", TYPING),
        ("typing_extensions-4.16.0-py2-none-any.whl", None),
        ("typing_extensions-4.16.0-py312-none-any.whl", None),
        ("typing_extensions-4.16.0-any.whl", None),
    ],
)
def test_a_wheel_fits_one_pin_by_name_version_python_and_platform(wheel: str, pin: Pin | None) -> None:
    assert wheels_of([TORCH, TYPING, TENSORFLOW], [wheel], "amd64") == ({wheel: pin} if pin else {})


def test_wheels_are_for_the_python_of_the_images() -> None:
    assert f"/opt/venv/lib/python{PYTHON_VERSION}/" in (assets.image_dir() / "Dockerfile.torch").read_text()


def test_wheels_may_need_no_newer_library_than_debians() -> None:
    assert platforms("arm64")[0] == "manylinux_2_36_aarch64" and "manylinux2014_aarch64" in platforms("arm64")


def test_a_controller_without_pip_has_what_is_in_the_cache(tmp_path: Path) -> None:
    cache = WheelCache(tmp_path, "amd64", (), {})
    assert cache.fetch([TYPING], lambda line: None) == {}
    (tmp_path / "typing_extensions-4.16.0-py3-none-any.whl").touch()
    assert list(cache.fetch([TYPING, TORCH], lambda line: None)) == ["typing_extensions-4.16.0-py3-none-any.whl"]


def test_a_wheel_gets_into_the_cache_as_a_whole(tmp_path: Path) -> None:
    """`pip` stands for a program that writes a wheel to --dest and then fails."""
    script = (
        'while [ "$1" != --dest ]; do shift; done; echo whole > "$2/typing_extensions-4.16.0-py3-none-any.whl"; exit 1'
    )
    cache = WheelCache(tmp_path / "wheels", "amd64", ("sh", "-c", script, "pip"), {"PATH": "/usr/bin:/bin"})
    (name,) = cache.fetch([TYPING], lambda line: None)
    assert [path.name for path in cache.root.iterdir()] == [name]


def test_pip_is_not_asked_for_what_the_cache_has(tmp_path: Path) -> None:
    (tmp_path / "typing_extensions-4.16.0-py3-none-any.whl").touch()
    script = f"touch {tmp_path}/asked"
    WheelCache(tmp_path, "amd64", ("sh", "-c", script), {"PATH": "/usr/bin:/bin"}).fetch([TYPING], lambda line: None)
    assert not (tmp_path / "asked").exists()


def failing_cache(root: Path, script: str = "exit 1") -> WheelCache:
    return WheelCache(root, "amd64", ("sh", "-c", script, "pip"), {"PATH": "/usr/bin:/bin"})


def test_a_cache_folder_that_cannot_be_made_is_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    root = tmp_path / "cache" / "wheels"
    with pytest.raises(HvdockerError) as caught:
        failing_cache(root).fetch([TYPING], lambda line: None)
    error = caught.value
    assert (error.what, error.host) == (f"wheels cannot be downloaded into {root}: Not a directory", "this machine")
    assert error.command == f"ls -ld {root}"
    assert error.fix == "let your user write there, or set XDG_CACHE_HOME to another folder"


def test_a_disk_that_gets_full_while_pip_downloads_is_named(tmp_path: Path) -> None:
    script = "echo 'ERROR: Could not install packages: [Errno 28] No space left on device' >&2; exit 1"
    with pytest.raises(HvdockerError) as caught:
        failing_cache(tmp_path, script).fetch([TYPING], lambda line: None)
    error = caught.value
    assert error.what == f"wheels cannot be downloaded into {tmp_path}: No space left on device"
    assert error.command == f"df -h {tmp_path}" and error.fix and error.fix.startswith("free some space there")


def test_pip_writes_to_the_disk_of_the_cache_only(tmp_path: Path) -> None:
    script = f'echo "$TMPDIR" > {tmp_path}/seen; exit 1'
    failing_cache(tmp_path / "wheels", script).fetch([TYPING], lambda line: None)
    assert (tmp_path / "seen").read_text().startswith(f"{tmp_path}/wheels/draft-")


def test_the_build_and_the_controller_know_the_same_server() -> None:
    script = (assets.image_dir() / "build" / "venv-pip").read_text()
    assert "server=hvdocker-wheels\n" in script and f"http://$server:{PORT}/" in script


def test_only_listed_wheels_are_served_and_they_are_listed_once_asked(tmp_path: Path) -> None:
    (tmp_path / "a+cpu.whl").write_text("A")
    (tmp_path / "secret").write_text("B")
    asked = []

    def list_wheels() -> list[str]:
        asked.append(1)
        return ["a+cpu.whl"]

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with served_wheels(tmp_path, list_wheels) as hosts:
        if not hosts:
            pytest.skip("another process has the port on this machine")
        url = f"http://{hosts['hvdocker-wheels']}:{PORT}/"
        assert asked == []
        assert opener.open(url).read() == b'<a href="a%2Bcpu.whl">a+cpu.whl</a>\n'
        assert opener.open(f"{url}a%2Bcpu.whl").read() == b"A"
        for other in ("secret", "../secret", "%2e%2e/secret"):
            with pytest.raises(urllib.error.HTTPError):
                opener.open(url + other)
    assert asked == [1]
