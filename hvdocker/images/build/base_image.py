"""Provides the Debian base image of hvdocker's images: finds it, pulls it, or makes it from Debian's packages.

The engine may be on another machine. mmdebstrap, which makes the image, always runs on the controller, and its
output is streamed to the engine.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import IO

import docker
import docker.errors

from hvdocker.errors import HvdockerError

REPOSITORY = "hvdocker/debian"
BOOTSTRAP = ("mmdebstrap", "--variant=minbase", "--include=ca-certificates")
REGISTRY_TIMEOUT_S = 10.0
PULL_TIMEOUT_S = 900.0
CHUNK_BYTES = 1 << 20

# Go's names of CPU architectures that Debian names differently.
DEBIAN_ARCHITECTURES = {"arm": "armhf", "386": "i386", "ppc64le": "ppc64el"}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ensure_base_image(client: docker.APIClient, suite: str = "bookworm", say: Callable[[str], None] = _say) -> str:
    """Return the tag of the Debian base image. If the engine of `client` lacks the image, pull it, or make it with
    mmdebstrap if the pull fails.

    `suite` is the name of the Debian release. `say` receives a line about where the image came from."""
    tag = f"{REPOSITORY}:{suite}"
    if _has_image(client, tag):
        say(f"base image {tag}: already there")
        return tag
    refusal = _pull(client, suite)
    if refusal is None:
        say(f"base image {tag}: pulled debian:{suite}-slim")
        return tag
    say(f"base image {tag}: not pulled ({refusal}); making it from {suite}'s packages")
    _bootstrap(client, suite)
    return tag


def _has_image(client: docker.APIClient, tag: str) -> bool:
    try:
        client.inspect_image(tag)
    except docker.errors.ImageNotFound:
        return False
    return True


def _pull(client: docker.APIClient, suite: str) -> str | None:
    """Pull `debian:<suite>-slim` and tag it as the base image; `suite` is the name of the Debian release. Return why
    that failed, or None if it succeeded.

    The pull is given up if no registry answers in time, or if it takes too long."""
    pull = _Pull(client, suite)
    pull.start()
    if not pull.answered.wait(REGISTRY_TIMEOUT_S):
        pull.given_up.set()
        return f"no registry answered within {REGISTRY_TIMEOUT_S:.0f} s"
    pull.join(PULL_TIMEOUT_S)
    if pull.is_alive():
        pull.given_up.set()
        return f"the pull did not end within {PULL_TIMEOUT_S:.0f} s"
    if pull.problem is None:
        client.tag(f"debian:{suite}-slim", REPOSITORY, suite)
    return pull.problem


class _Pull(threading.Thread):
    """A thread that pulls Debian's image. The caller can abandon the pull by setting `given_up`.

    The SDK's pull has no timeout, so a network that drops packets would block it. `answered` is set when the registry
    has answered or the pull has ended. `problem` is the error, or None."""

    def __init__(self, client: docker.APIClient, suite: str) -> None:
        super().__init__(name=f"pull-{suite}", daemon=True)
        self.client = client
        self.suite = suite
        self.answered = threading.Event()
        self.given_up = threading.Event()
        self.problem: str | None = None

    def run(self) -> None:
        try:
            for event in self.client.pull("debian", f"{self.suite}-slim", stream=True, decode=True):
                if self.given_up.is_set():
                    return
                self.problem = event.get("error", self.problem)
                self.answered.set()
        except Exception as error:  # any error means the same: no image from a registry
            self.problem = str(getattr(error, "explanation", None) or error)
        finally:
            self.answered.set()


def _bootstrap(client: docker.APIClient, suite: str) -> None:
    """Make the base image of the Debian release `suite` with mmdebstrap on the controller, for the architecture of the
    engine of `client`, and import it there. Raise HvdockerError if mmdebstrap is not installed or fails."""
    if shutil.which(BOOTSTRAP[0]) is None:
        raise HvdockerError(
            f"no Debian {suite} base image: no registry answers, and {BOOTSTRAP[0]} is not installed here",
            command=f"command -v {BOOTSTRAP[0]}",
            fix=f"apt-get install {BOOTSTRAP[0]} here, or load an image tagged {REPOSITORY}:{suite}",
        )
    argv = (*BOOTSTRAP, f"--architectures={_architecture(client)}", suite, "-")
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        try:
            _import(client, suite, _chunks(process, errors, " ".join(argv)))
        finally:
            process.terminate()
            process.wait()


def _architecture(client: docker.APIClient) -> str:
    name = str(client.version()["Arch"])
    return DEBIAN_ARCHITECTURES.get(name, name)


def _chunks(process: subprocess.Popen[bytes], errors: IO[str], command: str) -> Iterator[bytes]:
    """Yield the archive that the running `process` (mmdebstrap) writes.

    Raise HvdockerError at the end if mmdebstrap fails, so that no partial image is imported. `errors` is the file with
    the standard error of mmdebstrap, and `command` is its command line, for the message."""
    assert process.stdout is not None
    yield from iter(lambda: process.stdout.read(CHUNK_BYTES) if process.stdout else b"", b"")
    if process.wait() != 0:
        errors.seek(0)
        raise HvdockerError(
            f"making the base image failed: {BOOTSTRAP[0]} ended with {process.returncode}",
            command=f"{command} >/dev/null",
            lines=errors.read().splitlines()[-10:],
            fix="run the command above by hand; it needs the distribution's package mirror",
        )


def _import(client: docker.APIClient, suite: str, body: Iterator[bytes]) -> None:
    params = {"fromSrc": "-", "repo": REPOSITORY, "tag": suite, "changes": 'CMD ["bash"]'}
    # The SDK's import_image() reads the whole archive into memory; its _post() sends a stream in chunks.
    response = client._post(client._url("/images/create"), params=params, data=body, timeout=None)
    client._raise_for_status(response)
    for line in response.text.splitlines():
        if problem := json.loads(line).get("error"):
            raise HvdockerError(
                "the engine refused the base image",
                lines=[str(problem)],
                fix="look at the engine's disk: docker system df",
            )
