"""Locates the data files: templates/ (the template of an SSH configuration), images/ (the training image) and
examples/digits (the example of `hvdocker demo`).

In a checkout these folders are beside the package; in a wheel they are in its folder `_assets`. No other file knows
where they are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_PACKED = _PACKAGE / "_assets"


def root() -> Path:
    return _PACKED if _PACKED.is_dir() else _PACKAGE.parent


def image_dir() -> Path:
    return root() / "images" / "doc-hvd"


def demo_dir() -> Path:
    """Return the folder of the example that `hvdocker demo` trains."""
    return root() / "examples" / "digits"


def protocol_dir() -> Path:
    """Return the folder of the package hvdocker.protocol, which is also copied into images."""
    return _PACKAGE / "protocol"


def ssh_config_template() -> str:
    return (root() / "templates" / "ssh_config.j2").read_text(encoding="utf-8")
