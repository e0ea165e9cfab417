"""Packs the build context: the folder images/doc-hvd, the site's CA certificates, and wheels."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from hvdocker import assets

_CA_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def site_ca_bundle(environ: Mapping[str, str]) -> Path | None:
    """Return the CA bundle that a variable of pip, OpenSSL, requests or curl in `environ` names. PIP_CERT is one of
    these variables.

    Return None if no variable names an existing file."""
    for variable in _CA_VARIABLES:
        path = Path(environ.get(variable, ""))
        if environ.get(variable) and path.is_file():
            return path
    return None


def build_context(
    ca_bundle: Path | None, wheels: Iterable[Path], texts: Mapping[str, str] | None = None
) -> io.BufferedRandom:
    """Return a tar of the build context in a temporary file, which the caller closes: images/doc-hvd, the package
    hvdocker.protocol for the programs in lib/, the CA bundle, the wheels, and `texts` as files by name."""
    spool: io.BufferedRandom = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    with tarfile.open(fileobj=spool, mode="w") as tar:
        tar.add(assets.image_dir(), arcname=".", filter=_normalized)
        _add_bytes(tar, "lib/hvdocker/__init__.py", b"")
        tar.add(assets.protocol_dir(), arcname="lib/hvdocker/protocol", filter=_normalized)
        _add_bytes(tar, "site-ca.crt", ca_bundle.read_bytes() if ca_bundle else b"")
        _add_bytes(tar, "wheelhouse/.keep", b"")
        for wheel in sorted(wheels):
            tar.add(wheel, arcname=f"wheelhouse/{wheel.name}", filter=_normalized)
        for name, text in (texts or {}).items():
            _add_bytes(tar, name, text.encode())
    spool.seek(0)
    return spool


def text_context(texts: Mapping[str, str]) -> io.BytesIO:
    """Return a tar of a build context that has only text files. `texts` maps their names to their content."""
    spool = io.BytesIO()
    with tarfile.open(fileobj=spool, mode="w") as tar:
        for name, text in texts.items():
            _add_bytes(tar, name, text.encode())
    spool.seek(0)
    return spool


def _normalized(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return the tar entry without owner and time. Return None for a bytecode cache, which leaves it out.

    So the build context is byte for byte equal on every machine, and the builder's cache finds the layers."""
    if "__pycache__" in info.name:
        return None
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    return info


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o644
    tar.addfile(info, io.BytesIO(data))
