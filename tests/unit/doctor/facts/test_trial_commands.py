"""What a container says of itself: the script itself, run here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hvdocker.doctor.facts.trial_commands import look_inside, read_inside


def inside(top: Path) -> dict[str, str]:
    _, *words = look_inside(str(top)).argv
    clean = {"PATH": os.environ["PATH"]}
    # -S: with no packages, so that only files tell.
    said = subprocess.run([sys.executable, "-S", *words], capture_output=True, text=True, check=True, env=clean)
    seen = read_inside(said.stdout)
    assert seen is not None and seen.shm_bytes is not None
    return dict(seen.versions)


@pytest.mark.parametrize(
    "place",
    ["usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/local/lib", "usr/local/cuda-12.2/lib64", "opt/conda/lib"],
)
def test_nccl_that_no_package_of_python_brought(tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "libnccl.so.2.18.3").touch()
    (folder / "libnccl.so.2").symlink_to("libnccl.so.2.18.3")
    assert inside(tmp_path)["nccl"] == "2.18.3"


def test_where_there_is_no_nccl_none_is_told(tmp_path: Path) -> None:
    found = inside(tmp_path)
    assert "nccl" not in found and found["python"] == "{}.{}.{}".format(*sys.version_info[:3])
