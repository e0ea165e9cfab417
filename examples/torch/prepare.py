"""Puts the four files of Fashion-MNIST (31 MB) into `data` beside this file, or into the folder that is named.

    python examples/torch/prepare.py
    python examples/torch/prepare.py examples/lightning/data

They are in Debian's package `dataset-fashion-mnist`. If it is installed here, its files are copied. If not, `apt-get`
downloads the package and `dpkg-deb` unpacks it: that needs no root and installs nothing."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "dataset-fashion-mnist"
INSTALLED = Path("/usr/share/datasets/fashion-mnist")


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("data")
    with tempfile.TemporaryDirectory() as scratch:
        source = INSTALLED if INSTALLED.is_dir() else downloaded(Path(scratch))
        target.mkdir(parents=True, exist_ok=True)
        for path in sorted(source.glob("*-ubyte.gz")):
            print(shutil.copy(path, target))


def downloaded(scratch: Path) -> Path:
    """Return the folder with the files of the package, unpacked in `scratch`."""
    # Without the option, apt run by root warns that its own user may not write into `scratch`.
    subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", PACKAGE], cwd=scratch, check=True)
    (package,) = scratch.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", package, scratch], check=True)
    return scratch / INSTALLED.relative_to("/")


if __name__ == "__main__":
    main()
