"""Renders, as lines of a script, the steps that build, ship, push, pull and remove images. Pure.

A push or a pull in a script needs only the docker CLI on the host. The parameter `trust` (how containers log in to each
other, None if the plan makes no keys) is not used here; it is there because all render functions of script.py have the
same signature."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from hvdocker import names
from hvdocker.images.build import layer_commands
from hvdocker.images.ship.resumable_parts import full_reference, remote_reference
from hvdocker.images.steps import BuildImage, BuildLayer, PullImage, PushImage, RemoveImage, ShipImage
from hvdocker.plan.plan import CONTROLLER
from hvdocker.script.writer import ScriptWriter, here_document, tar_command
from hvdocker.shell.command import Command, command, shell

# $1 is the image's name on the host, $2 its name in the registry. The script restores the tag $2 afterwards:
# the tag is absent again, or names the same image as before.
_RESTORING_THE_TAG = """\
before=$({docker} image inspect --format '{{{{.Id}}}}' "$2" 2>/dev/null); {work}; code=$?
if [ -n "$before" ]; then {docker} tag "$before" "$2"; else {docker} rmi "$2"; fi >/dev/null 2>&1
exit "$code\""""
_PUSH = '{docker} tag "$1" "$2" && {docker} push --quiet "$2"'
_PULL = '{docker} pull --quiet "$2" && {docker} tag "$2" "$1"'


def build_image(writer: ScriptWriter, step: BuildImage, trust: Any) -> Iterator[str]:
    words = ["hvdocker", "image", "build", "--target", step.image.partition(":")[2]]
    yield shlex.join(words if step.host == CONTROLLER else [*words, "--on", step.host])


def build_layer(writer: ScriptWriter, step: BuildLayer, trust: Any) -> Iterator[str]:
    """Yield the lines that build the image layer with the user's Python requirements (`step.requirements`), on the host
    of the step. `trust` is not used.

    Only `docker run` is called without the docker CLI's configuration file. Proxy settings in that file would get into
    the container, and so into the image."""
    folder, name = (f'"$keys/layer/{layer_commands.FOLDER}', layer_commands.build_container_name(step.key, "by-hand"))
    yield f'mkdir -p {folder}/{layer_commands.WHEELS}"'
    for wheel in step.requirements.wheels:
        yield f'cp -- {shlex.quote(wheel.path)} {folder}/{layer_commands.WHEELS}/"'
    for file, content in layer_commands.layer_files(step.requirements).items():
        yield here_document(f'{folder}/{file}"', content)
    yield "ca=${PIP_CERT:-${SSL_CERT_FILE:-${REQUESTS_CA_BUNDLE:-${CURL_CA_BUNDLE:-}}}}"
    yield f'[ -f "$ca" ] || ca=/dev/null; cp -- "$ca" {folder}/{layer_commands.CA_FILE}"'
    start = ["docker", "--config", "/nonexistent", "run", "--detach", "--rm", "--init", "--name", name]
    for label, value in layer_commands.labels(step.key, step.content).items():
        start += ["--label", f"{label}={value}"]
    wait = layer_commands.wait().argv
    start += ["--network", "host", "--entrypoint", wait[0], step.base, *wait[1:]]
    yield f"{writer.on(step.host, Command(tuple(start)))} > /dev/null"
    copy = command("docker", "cp", "-", f"{name}:{layer_commands.PARENT}")
    yield f"{tar_command(0, 0, 'layer', layer_commands.FOLDER)} | {writer.on(step.host, copy)}"
    remove = f"{writer.on(step.host, command('docker', 'rm', '-f', name))} > /dev/null"
    install = command("docker", "exec", "--user", "0:0", name, *layer_commands.install().argv)
    yield f"{writer.on(step.host, install)} || {{ {remove}; exit 1; }}"
    starts = (f"ENTRYPOINT {json.dumps(names.IMAGE_ENTRYPOINT)}", f"CMD {json.dumps(names.IMAGE_COMMAND)}")
    commit = ("docker", "commit", "--message", "requirements", "--change", starts[0], "--change", starts[1])
    yield f"{writer.on(step.host, command(*commit, name, step.image))} > /dev/null"
    yield remove


def ship_image(writer: ScriptWriter, step: ShipImage, trust: Any) -> Iterator[str]:
    save = command("docker", "save", step.image)
    source = save.line() if step.source == CONTROLLER else writer.on(step.source, save)
    yield f"{source} | {writer.on(step.host, command('docker', 'load', '--quiet'))}"


def push_image(writer: ScriptWriter, step: PushImage, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, _registry("push", _PUSH, step, writer.docker(step.host)))


def pull_image(writer: ScriptWriter, step: PullImage, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, _registry("pull", _PULL, step, writer.docker(step.host)))


def _registry(verb: str, work: str, step: PushImage | PullImage, docker: str) -> Command:
    remote = remote_reference(step.image, step.registry)
    if remote == full_reference(step.image):
        return command(*docker.split(), verb, "--quiet", remote)
    line = _RESTORING_THE_TAG.format(docker=docker, work=work.format(docker=docker))
    return shell(line, step.image, remote)


def remove_image(writer: ScriptWriter, step: RemoveImage, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, command("docker", "rmi", "--", step.reference))
