"""Finds the versions of the packages in the Python installation of the launcher. They are read from the names of
folders, because importing a package such as TensorFlow would take seconds."""

import re
from collections.abc import Iterable
from pathlib import Path

DIST_INFO = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)\.dist-info")
# Packages that are TensorFlow under another name.
TENSORFLOW_PACKAGES = ("tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel")


def installed_versions(launcher: Path) -> dict[str, str]:
    """Return the versions of Python and of all packages that pip installed, by package name. They are looked up in the
    virtual environment, or installation prefix, that contains `launcher`, the path of the launcher's program."""
    prefix = launcher.parent.parent
    names = [path.name for path in prefix.glob("lib/python3*/*-packages/*.dist-info")]
    return {**python_version(prefix), **versions_from_names(names)}


def versions_from_names(names: Iterable[str]) -> dict[str, str]:
    """Return the versions by package name, from the names of *.dist-info folders. Package names are in lower case, with
    `-` for `_`. Folder names in another form are ignored. A variant of TensorFlow, such as tensorflow-cpu, is also
    listed as tensorflow, if that is not installed itself."""
    matches = (DIST_INFO.fullmatch(name) for name in names)
    found = {match["name"].lower().replace("_", "-"): match["version"] for match in matches if match}
    for name in TENSORFLOW_PACKAGES:
        if name in found:
            found.setdefault("tensorflow", found[name])
    return dict(sorted(found.items()))


def python_version(prefix: Path) -> dict[str, str]:
    """Return {"python": version} without running Python; empty if the version is unknown. The version comes from
    pyvenv.cfg in the folder `prefix` (such as 3.11.4), else from the name of the folder lib/python3.* in it (such as
    3.11)."""
    try:
        for line in (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() in ("version", "version_info"):
                return {"python": value.strip()}
    except OSError:
        pass
    folders = sorted(
        prefix.glob("lib/python3.*"), key=lambda folder: [int(part) for part in re.findall(r"\d+", folder.name)]
    )
    return {"python": folders[-1].name.removeprefix("python")} if folders else {}
