"""Builds hvdocker's own images (`doc-hvd:TARGET`) through an engine's API, with the classic builder, which every engine
has."""

from __future__ import annotations

import io
import os
import tarfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from docker import APIClient

from hvdocker import assets
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.images.build.base_image import ensure_base_image

Say = Callable[[str], None]
SUITE = "bookworm"
# The gpu target copies its programs from doc-hvd:base. It has a Dockerfile of its own because the classic
# builder runs every stage above a target, so it would build the cpu image too. doc-hvd:base is not its base
# image, because after a change of the programs all layers above them (4.6 GB) would be sent again.
DOCKERFILES = {"gpu": "Dockerfile.gpu"}
GPU_ARCHITECTURE = "amd64"
CUDA_IMAGE_REQUIREMENTS = "requirements-gpu-cuda12.txt"
_CA_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True)
class BuildOptions:
    """What to build, and from what.

    `target` is base, cpu or gpu. `ca_bundle` has the site's CA certificates. `wheelhouse` is a folder of
    preferred wheels. `base` replaces the Debian base image. `cuda_image` is an image with NVIDIA's toolkit for
    CUDA 12; without it, the gpu target is compiled with CUDA 11.8, the toolkit of Debian 12."""

    target: str = "cpu"
    ca_bundle: Path | None = None
    wheelhouse: Path | None = None
    base: str | None = None
    cuda_image: str | None = None


def site_ca_bundle(environ: Mapping[str, str]) -> Path | None:
    """Return the CA bundle that a variable of pip, OpenSSL, requests or curl in `environ` names, for example PIP_CERT.

    Return None if no variable names an existing file."""
    for variable in _CA_VARIABLES:
        path = Path(environ.get(variable, ""))
        if environ.get(variable) and path.is_file():
            return path
    return None


def build_image(engine: APIClient, options: BuildOptions, say: Say) -> str:
    """Build `options.target` and the images that it is based on. Return its tag, such as `doc-hvd:cpu`.

    `say` receives the output of the build line by line. Raise HvdockerError if the build fails."""
    if options.target == "gpu":
        _check_cpu_architecture(engine)
    base = options.base or ensure_base_image(engine, SUITE, say)
    if options.target in DOCKERFILES:
        # If doc-hvd:base is up to date, the builder takes every step from its cache.
        _build(engine, replace(options, target="base"), base, say)
    return _build(engine, options, base, say)


def _check_cpu_architecture(engine: APIClient) -> None:
    """Raise HvdockerError if the engine's CPU architecture is not GPU_ARCHITECTURE (amd64). Called for the target gpu.

    TensorFlow and CUDA have no wheels for other architectures, so the build of that target would fail late."""
    found = str(engine.version()["Arch"])
    if found != GPU_ARCHITECTURE:
        raise HvdockerError(
            f"doc-hvd:gpu can be built for {GPU_ARCHITECTURE} only, this engine is {found}",
            command="docker version --format '{{.Server.Arch}}'",
            fix="build your own image FROM doc-hvd:base, and name it in `image:`",
        )


def _build(engine: APIClient, options: BuildOptions, base: str, say: Say) -> str:
    tag = f"doc-hvd:{options.target}"
    say(f"building {tag} from {base}")
    with _build_context(options) as context:
        output = engine.build(
            fileobj=context,
            custom_context=True,
            dockerfile=DOCKERFILES.get(options.target, "Dockerfile"),
            tag=tag,
            target=options.target,
            rm=True,
            forcerm=True,
            network_mode="host",
            buildargs=_arguments(options, base),
            decode=True,
            timeout=3600,
        )
        _follow_build(output, tag, say)
    return tag


def _arguments(options: BuildOptions, base: str) -> dict[str, str]:
    """Return the build arguments (`ARG`) for the Dockerfile of the target. `base` is the tag of the Debian base image.

    `options.cuda_image` does not become the base image: a build stage copies its /usr/local/cuda. So Debian, Python
    and the wheels stay the same, and hosts get one more layer instead of another system."""
    if options.target != "gpu":
        return {"BASE": base}
    if options.cuda_image:
        return {"BASE": base, "TOOLKIT": options.cuda_image, "REQUIREMENTS": CUDA_IMAGE_REQUIREMENTS}
    return {"BASE": base, "TOOLKIT": base}


def _follow_build(output: Iterator[dict[str, object]], tag: str, say: Say) -> None:
    """Pass each line of the build of the image `tag` to `say`. If the build fails, raise HvdockerError with its last
    lines. `output` are the engine's messages about the build."""
    last: deque[str] = deque(maxlen=15)
    for message in output:
        text = str(message.get("stream") or message.get("status") or "").rstrip()
        for line in text.splitlines():
            if line.strip():
                last.append(line)
                say(line)
        if "error" in message:
            raise HvdockerError(
                f"building {tag} failed: {message['error']}",
                command=f"hvdocker image build --target {tag.partition(':')[2]}",
                lines=list(last)[-10:],
                fix="the lines above are the build's own; a site with its own CA needs --ca-bundle FILE",
            )


def _build_context(options: BuildOptions) -> io.BufferedRandom:
    """Return a tar of the build context in a temporary file: images/doc-hvd, the package hvdocker.protocol for
    the programs in lib/, the CA bundle, the wheels."""
    import tempfile

    spool: io.BufferedRandom = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    with tarfile.open(fileobj=spool, mode="w") as tar:
        tar.add(assets.image_dir(), arcname=".", filter=_normalized)
        _add_bytes(tar, "lib/hvdocker/__init__.py", b"")
        tar.add(assets.protocol_dir(), arcname="lib/hvdocker/protocol", filter=_normalized)
        ca = options.ca_bundle or site_ca_bundle(os.environ)
        _add_bytes(tar, "site-ca.crt", ca.read_bytes() if ca else b"")
        _add_bytes(tar, "wheelhouse/.keep", b"")
        if options.wheelhouse:
            if not options.wheelhouse.is_dir():
                raise UsageProblem(f"the wheelhouse {options.wheelhouse} is not a folder")
            for wheel in sorted(options.wheelhouse.glob("*.whl")):
                tar.add(wheel, arcname=f"wheelhouse/{wheel.name}", filter=_normalized)
    spool.seek(0)
    return spool


def _normalized(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return the tar entry without owner and time, or None for a bytecode cache, which is left out.

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
