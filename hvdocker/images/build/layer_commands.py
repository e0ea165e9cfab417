"""One layer on an image: what runs in a container of the image until its requirements are installed."""

from __future__ import annotations

from hvdocker import names
from hvdocker.images.requirements import Requirements
from hvdocker.shell.command import Command, command

PARENT = "/tmp"
FOLDER = "hvdocker-layer"
CA_FILE = "site-ca.crt"
WHEELS = "wheelhouse"
# A container whose hvdocker was killed ends, and is removed, by itself.
LONGEST_S = 7200

# The image's own packages are constraints: what would break TensorFlow or Horovod is a conflict that pip
# names. An image without pip gets Debian's, unpacked and not installed, and a virtual environment that
# stands first on the PATH of our images. The blank lines are a sign of life while pip downloads.
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

# A TensorFlow of another name (tensorflow_cpu) is TensorFlow all the same: without this entry a package that
# asks for it would bring a second one, which overwrites the first.
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


def build_name(key: str, suffix: str) -> str:
    return f"hvdocker-req-{key}-{suffix}"


def layer_files(requirements: Requirements) -> dict[str, str]:
    """What lies in `FOLDER`, besides the site's certificate authorities and the folder of wheels."""
    return {
        "install": INSTALL,
        "name-tensorflow.py": NAME_TENSORFLOW,
        "requirements.txt": _text(requirements.lines),
        "constraints.txt": _text(requirements.constraints),
    }


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def labels(key: str, base: str) -> dict[str, str]:
    return {names.LABEL_REQUIREMENTS: key, names.LABEL_BASE: base}


def install() -> Command:
    return command("sh", f"{PARENT}/{FOLDER}/install")


def wait() -> Command:
    """What the container does meanwhile."""
    return command("sleep", str(LONGEST_S))
