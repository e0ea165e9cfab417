"""Installs requirements on an image as one layer: runs pip in a container of the image and commits the container.

A Dockerfile is not used, because it would make a second layer for the requirements file, and leave an image behind if
pip fails. With a commit, the site's CA bundle and proxies are in no layer and in no setting of the image."""

from __future__ import annotations

import contextlib
import io
import secrets
import shlex
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from docker import APIClient

from hvdocker.errors import HvdockerError
from hvdocker.images.build import layer_commands
from hvdocker.images.requirements import Requirements
from hvdocker.images.steps import BuildLayer

Say = Callable[[str], None]


def build_layer(engine: APIClient, step: BuildLayer, ca_bundle: bytes, say: Say) -> None:
    """Install the step's requirements on its base image, and tag the result as `step.image`.

    `ca_bundle` are the site's CA certificates, empty for none. `say` receives pip's output line by line, and an empty
    line every second; it may raise to stop the installation. If pip fails, raise HvdockerError and make no image."""
    with _container(engine, step) as container:
        with _layer_archive(step.requirements, ca_bundle) as archive:
            engine.put_archive(container, layer_commands.PARENT, archive)
        _install(engine, container, step, say)
        _commit(engine, container, step)


@contextmanager
def _container(engine: APIClient, step: BuildLayer) -> Iterator[str]:
    """Yield the id of a running container of the base image. The container is removed at the end.

    A commit copies the container's labels and environment to the image. So the new image's labels are set here, and
    proxies are not set here: they are passed only to the exec that runs pip."""
    from docker.errors import APIError

    name = layer_commands.build_container_name(step.key, secrets.token_hex(2))
    waiting = layer_commands.wait().argv
    made = engine.create_container(
        step.base,
        entrypoint=list(waiting[:1]),
        command=list(waiting[1:]),
        name=name,
        labels=layer_commands.labels(step.key, step.content),
        host_config=engine.create_host_config(network_mode="host", auto_remove=True, init=True),
        use_config_proxy=False,
    )["Id"]
    try:
        engine.start(made)
        yield made
    finally:
        # With auto_remove the engine may be removing it already.
        with contextlib.suppress(APIError):
            engine.remove_container(made, force=True, v=True)


def _install(engine: APIClient, container: str, step: BuildLayer, say: Say) -> None:
    """Run the install script as root in the container and pass each line of its output to `say`. If it fails, raise
    HvdockerError with pip's last lines."""
    last: deque[str] = deque(maxlen=10)
    proxies = engine._proxy_configs.get_environment()
    made = engine.exec_create(container, list(layer_commands.install().argv), user="0:0", environment=proxies)["Id"]
    for line in _lines(engine.exec_start(made, stream=True)):
        say(line)
        if line:
            last.append(line)
    code = engine.exec_inspect(made)["ExitCode"]
    if code != 0:
        raise HvdockerError(
            f"pip could not install {step.requirements.source} (exit {code})",
            command=shlex.join(("pip", "install", "-r", str(step.requirements.source))),
            lines=list(last),
            fix="the lines above are pip's own; what the image has stays as it is: "
            "change the file, or train with --no-requirements",
        )


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip()
    if rest:
        yield rest.decode("utf-8", "replace").rstrip()


def _commit(engine: APIClient, container: str, step: BuildLayer) -> None:
    """Commit the container as the image `step.image`, with the entrypoint and command of the base image.

    There is no timeout, because large layers take longer than the SDK's default."""
    base: Mapping[str, Any] = engine.inspect_image(step.base)["Config"]  # Any: the engine's JSON
    settings = {"Entrypoint": base.get("Entrypoint"), "Cmd": base.get("Cmd")}
    repository, _, tag = step.image.partition(":")
    where = {"container": container, "repo": repository, "tag": tag, "pause": False, "comment": "requirements"}
    response = engine._post_json(engine._url("/commit"), data=settings, params=where, timeout=None)
    engine._raise_for_status(response)


def _layer_archive(requirements: Requirements, ca_bundle: bytes) -> IO[bytes]:
    """Return a tar of the files that the install script needs in the container: requirements, wheels and `ca_bundle`
    (the site's CA certificates).

    The tar is an open temporary file, because wheels can be large. The caller closes it."""
    texts = layer_commands.layer_files(requirements).items()
    files = {**{name: text.encode() for name, text in texts}, layer_commands.CA_FILE: ca_bundle}
    spool = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    with tarfile.open(fileobj=spool, mode="w") as tar:
        for folder in (layer_commands.FOLDER, f"{layer_commands.FOLDER}/{layer_commands.WHEELS}"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{layer_commands.FOLDER}/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
        for wheel in requirements.wheels:
            tar.add(wheel.path, f"{layer_commands.FOLDER}/{layer_commands.WHEELS}/{wheel.name}")
    spool.seek(0)
    return spool
