"""A real registry with a password, on a lab host, and hosts whose engines may use it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.lab import LabHost
from tests.cluster.lab.spec import PREFIX
from tests.cluster.lab.wait import until

PASSWORD = "shibboleth-7Q"
LOGIN = {"HVDOCKER_REGISTRY_USER": "trainer", "HVDOCKER_REGISTRY_PASSWORD": PASSWORD}
# Plain HTTP on the lab's own network; the first engine also stands for this machine's, over TCP.
PLAIN = f'"insecure-registries": ["{PREFIX}0/24"]'
SERVER = f'{{{PLAIN}, "hosts": ["unix:///var/run/docker.sock", "tcp://0.0.0.0:2375"]}}'
PULLER = f"{{{PLAIN}}}"
CONFIG = """\
version: 0.1
storage: {filesystem: {rootdirectory: /run/registry}}
http: {addr: ":5000"}
auth: {htpasswd: {realm: lab, path: /run/registry.passwd}}
"""


@pytest.fixture
def registry(special: Callable[..., LabHost]) -> Iterator[LabHost]:
    """A host that runs the registry, and whose engine is the controller's."""
    host = special("registry", engine=SERVER)
    with serving(host):
        yield host


@contextmanager
def serving(host: LabHost) -> Iterator[None]:
    # bcrypt, cost 4, of the password above.
    host.exec(["sh", "-c", 'printf %s "$1" > /run/registry.yml', "sh", CONFIG])
    host.exec(["sh", "-c", 'printf "trainer:%s\\n" "$1" > /run/registry.passwd', "sh", bcrypt_of(PASSWORD)])
    host.spawn(["docker-registry", "serve", "/run/registry.yml"])
    answers = "docker-registry --version >/dev/null && ss -ltn sport = :5000 | grep -q LISTEN"
    until(lambda: host.attempt(answers)[0] == 0 or None, "the registry answers", 30)
    try:
        yield
    finally:
        host.exec("pid=$(pgrep -x docker-registry) && kill $pid; rm -rf /run/registry*")


def bcrypt_of(password: str) -> str:
    import bcrypt

    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def environment(registry: LabHost, **more: str) -> dict[str, str]:
    """Return variables with which the registry host's engine is the controller's."""
    return {"DOCKER_HOST": f"tcp://{registry.address}:2375", **more}
