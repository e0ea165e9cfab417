"""The commands and files that install requirements in a container of an image. Pure."""

from __future__ import annotations

from hvdocker import names
from hvdocker.images.requirements import Requirements
from hvdocker.shell.command import Command, command

PARENT = "/tmp"
FOLDER = "hvdocker-layer"
CA_FILE = "site-ca.crt"
WHEELS = "wheelhouse"
# The container ends after this time and the engine removes it, even if hvdocker was killed.
CONTAINER_LIFETIME_S = 7200

# Every package of the image but pip is a constraint: a layer may add packages but not change any, so what
# was tested together stays together, and pip reports a conflict. For an image without pip, Debian's pip is
# unpacked, not installed, and a virtual environment is made at /opt/venv, which comes first on the PATH of
# our images. A blank line every second shows that the installation is alive while pip downloads.
INSTALL = """\
set -eu
umask 022
cd "$(dirname "$0")"
(while sleep 1; do echo; done) &
beat=$!
trap 'kill $beat' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 PIP_BREAK_SYSTEM_PACKAGES=1
if [ -s site-ca.crt ]; then
    export PIP_CERT="$PWD/site-ca.crt" SSL_CERT_FILE="$PWD/site-ca.crt"
fi
if ls wheelhouse/*.whl > /dev/null 2>&1; then
    export PIP_FIND_LINKS="$PWD/wheelhouse"
fi
if python -m pip --version > /dev/null 2>&1; then
    set -- python -m pip
else
    apt-get -qq -o APT::Sandbox::User=root update
    apt-get -qq -o APT::Sandbox::User=root download python3-pip-whl
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt
    dpkg -x python3-pip-whl_*.deb pip
    python3 -m venv --without-pip --system-site-packages /opt/venv
    set -- pip/usr/share/python-wheels/pip-*.whl
    set -- /opt/venv/bin/python "$1/pip"
fi
"$1" name-tensorflow.py
"$@" list --format=freeze > installed.txt
grep -v '^pip==' installed.txt > image.txt || :
"$@" install --no-cache-dir --progress-bar off \\
    --constraint image.txt --constraint constraints.txt --requirement requirements.txt
cd /
rm -rf "$(dirname "$0")"
"""

# Makes a TensorFlow distribution of another name (tensorflow_cpu) known to pip as `tensorflow`. Without this
# entry, a package that requires `tensorflow` would install a second one, which overwrites the first.
NAME_TENSORFLOW = """\
from importlib.metadata import distributions
from pathlib import Path

found = {dist.name.lower().replace("-", "_"): dist for dist in distributions()}
names = ("tensorflow_cpu", "tensorflow_rocm", "intel_tensorflow")
other = next((found[name] for name in names if name in found), None)
if other and "tensorflow" not in found:
    version = other.version
    folder = Path(other.locate_file(f"tensorflow-{version}.dist-info"))
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\\nName: tensorflow\\nVersion: {version}\\n")
    (folder / "INSTALLER").write_text("hvdocker\\n")
    (folder / "RECORD").write_text("")
"""


def build_container_name(key: str, suffix: str) -> str:
    """Return the name of the container in which the requirements layer is built.

    `key` is a hash of the requirements and of the base image (`Requirements.key`). `suffix` is a random text, so that
    two builds at the same time have different names; a script of `--script` has `by-hand` instead."""
    return f"hvdocker-req-{key}-{suffix}"


def layer_files(requirements: Requirements) -> dict[str, str]:
    """Return the text files, by name, that the folder FOLDER of the container needs to install the requirements.

    The caller adds the site's CA bundle and the wheels."""
    return {
        "install": INSTALL,
        "name-tensorflow.py": NAME_TENSORFLOW,
        "requirements.txt": _text(requirements.lines),
        "constraints.txt": _text(requirements.constraints),
    }


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def labels(key: str, base: str) -> dict[str, str]:
    """Return the labels of the image with the requirements layer: LABEL_REQUIREMENTS is `key`, LABEL_BASE is `base`.

    `key` is a hash of the requirements and of the base image, which shows a later job that a worker already has its
    requirements. `base` is the content hash of the base image. Engines copy an image's labels to its containers, so a
    worker has both labels."""
    return {names.LABEL_REQUIREMENTS: key, names.LABEL_BASE: base}


def install() -> Command:
    return command("sh", f"{PARENT}/{FOLDER}/install")


def wait() -> Command:
    """Return the main command of the build container. It sleeps while the command of `install` runs as an exec."""
    return command("sleep", str(CONTAINER_LIFETIME_S))
