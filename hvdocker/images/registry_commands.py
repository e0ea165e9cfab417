"""Words that push or pull an image by hand: what a script runs on a host that has nothing but docker."""

from __future__ import annotations

from hvdocker.images.ship.parts import full_reference, remote_reference
from hvdocker.shell.command import Command, command, shell

# $1 what the image is named on the host, $2 in the registry. That name ends as it was before: gone, or on
# whatever a person had put it on.
_BORROWED = """\
before=$({docker} image inspect --format '{{{{.Id}}}}' "$2" 2>/dev/null); {work}; code=$?
if [ -n "$before" ]; then {docker} tag "$before" "$2"; else {docker} rmi "$2"; fi >/dev/null 2>&1
exit "$code\""""
_PUSH = '{docker} tag "$1" "$2" && {docker} push --quiet "$2"'
_PULL = '{docker} pull --quiet "$2" && {docker} tag "$2" "$1"'


def push(image: str, registry: str, docker: str) -> Command:
    return _words("push", _PUSH, image, registry, docker)


def pull(image: str, registry: str, docker: str) -> Command:
    return _words("pull", _PULL, image, registry, docker)


def _words(verb: str, work: str, image: str, registry: str, docker: str) -> Command:
    remote = remote_reference(image, registry)
    if remote == full_reference(image):
        return command(*docker.split(), verb, "--quiet", remote)
    return shell(_BORROWED.format(docker=docker, work=work.format(docker=docker)), image, remote)
