"""One host of the lab: inspect it, run commands on it, break and repair it, all through this machine's
engine."""

import json
import shlex
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors

from tests.cluster.lab.spec import NETWORK
from tests.cluster.lab.wait import LabError, until

READY_S = 60.0
USERS = ("root", "trainer", "sudoer", "outsider")
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key.pub"

RESET = """
set -e
docker ps -aq | xargs -r docker rm -f -v
docker network ls -q --filter type=custom | xargs -r docker network rm
docker volume ls -q | xargs -r docker volume rm
for feed in /var/tmp/hvdocker-feed-*/*.pid; do [ ! -s "$feed" ] || kill "$(cat "$feed")" || true; done
docker images -q hvdocker-part | xargs -r docker rmi -f
rm -rf /root/.hvdocker /home/*/.hvdocker /tmp/hvdocker* /var/tmp/hvdocker* /run/lab-gpu
"""

CLEAR_NETWORK_RULES = """
set -e
iptables -w -F INPUT
iptables -w -F OUTPUT
for link in /sys/class/net/*; do tc qdisc del dev "${link##*/}" root 2>/dev/null || true; done
"""

# Imports a few programs of the host with their libraries: an image of some MB that needs no registry.
TINY_IMAGE_SCRIPT = """
set -e
programs=$(for name in sh env cat sleep id ip hostname; do command -v "$name"; done)
libraries=$(for program in $programs; do ldd "$program"; done | grep -o '/[^ ]*' | sort -u)
tar -chP $programs $libraries | docker import -c 'CMD ["sleep", "infinity"]' - "$1"
"""


@dataclass(frozen=True)
class LabHost:
    """A container of this machine's engine that acts as a host. `engine` is that of the machine."""

    name: str
    address: str
    suite: str
    engine: docker.APIClient
    private_key: Path

    @property
    def container(self) -> str:
        return f"{NETWORK}-{self.name}"

    def key(self, user: str = "trainer") -> Path:
        """Return the private key that logs in as that user: one key pair serves all users."""
        if user not in USERS:
            raise LabError(f"{self.name}: no user {user}; there are {', '.join(USERS)}")
        return self.private_key

    # Commands and images

    def exec(self, command: str | Sequence[str], check: bool = True, user: str = "root") -> str:
        """Run a command on the host and return its stdout; a string is a line for its shell.

        A failure raises LabError unless `check` is False."""
        code, out, err = self.attempt(command, user)
        if check and code != 0:
            line = command if isinstance(command, str) else shlex.join(command)
            raise LabError(f"{self.name}: `{line}` as {user} ended with {code}:\n{out}{err}")
        return out

    def attempt(self, command: str | Sequence[str], user: str = "root") -> tuple[int, str, str]:
        """Run a command on the host; return exit status, standard output and standard error."""
        argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
        try:
            made = self.engine.exec_create(self.container, argv, user=user)
            out, err = self.engine.exec_start(made["Id"], demux=True)
            code = self.engine.exec_inspect(made["Id"])["ExitCode"]
        except docker.errors.APIError as error:
            raise LabError(f"{self.name}: {error.explanation or error}") from error
        return code, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace")

    def spawn(self, argv: Sequence[str], user: str = "root") -> None:
        """Start a command in the background."""
        made = self.engine.exec_create(self.container, list(argv), user=user)
        self.engine.exec_start(made["Id"], detach=True)

    def docker(self, *argv: str) -> str:
        return self.exec(["docker", *argv])

    def containers(self) -> list[dict[str, Any]]:
        """Return all containers on the host as `docker inspect` shows them."""
        ids = self.docker("ps", "-aq").split()
        return list(json.loads(self.docker("inspect", *ids))) if ids else []

    def has_image(self, reference: str) -> bool:
        return self.attempt(["docker", "image", "inspect", reference])[0] == 0

    def load(self, reference: str) -> None:
        """Copy an image from this machine's engine to the host's, unless it has the same one."""
        wanted = self.engine.inspect_image(reference)["Id"]
        if self.attempt(["docker", "image", "inspect", "-f", "{{.Id}}", reference])[1].strip() == wanted:
            return
        script = 'docker save "$1" | docker exec -i "$2" docker load'
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script, "load", reference, self.container],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise LabError(f"{self.name}: loading {reference} failed:\n{done.stdout}{done.stderr}")

    def tiny_image(self, tag: str = "tiny:lab") -> str:
        """Return the tag of an image of a few megabytes, made on the host from its own shell and tools."""
        if not self.has_image(tag):
            self.exec(["sh", "-c", TINY_IMAGE_SCRIPT, "tiny", tag])
        return tag

    def logs(self, lines: int = 30) -> str:
        return bytes(self.engine.logs(self.container, tail=lines)).decode(errors="replace")

    # Breaking and repairing

    def stop_sshd(self) -> None:
        """Stop the host's sshd and its sessions, but no sshd in a container."""
        self.exec("pid=$(cat /run/sshd.pid) && pkill -P $pid; kill $pid")
        until(lambda: None if self._answers_ssh() else True, f"{self.name}: sshd stops", READY_S)

    def start_sshd(self) -> None:
        if not self._answers_ssh():
            self._spawn("sshd")
            until(lambda: self._answers_ssh() or None, f"{self.name}: sshd answers", READY_S)

    def stop_engine(self) -> None:
        self.exec("kill $(cat /var/run/docker.pid)")
        script = "test ! -e /var/run/docker.pid && ! pgrep -x dockerd"
        until(lambda: self.attempt(script)[0] == 0 or None, f"{self.name}: engine stops", READY_S)

    def start_engine(self, machine: str = "") -> None:
        """Start dockerd. `machine` is the CPU architecture that it is made to see (setarch), such as i686."""
        if not self._answers_docker():
            self._spawn("engine", *(["setarch", machine] if machine else []))
            until(lambda: self._answers_docker() or None, f"{self.name}: engine answers", READY_S)

    def kill(self) -> None:
        """Power off: end all processes of the host at once."""
        self.engine.kill(self.container)

    def start(self) -> None:
        """Power on, with the same disk and host key."""
        self.engine.start(self.container)
        self.wait_ready()

    def reset(self) -> None:
        """Remove everything but images: containers, networks, volumes, hvdocker's files, packet filters."""
        self.repair()
        self.exec(RESET)

    def repair(self) -> None:
        """Undo what a test may have stopped or cut off: network rules, engine, sshd."""
        self.exec(CLEAR_NETWORK_RULES)
        self.start_engine()
        self.start_sshd()

    # Health

    def wait_ready(self) -> str:
        """Wait until engine and sshd answer; return the host's public key."""
        try:
            return until(self.probe, f"{self.name} is ready", READY_S)
        except LabError as error:
            raise LabError(f"{error}\n{self.logs()}") from error

    def probe(self) -> str | None:
        """Return the host's public key if its engine and sshd answer; None if sshd does not.

        Raise LabError if the host does not run or its engine does not answer."""
        if self.engine.inspect_container(self.container)["State"]["Status"] != "running":
            raise LabError(f"{self.name}: not running")
        code, out, err = self.attempt(f"docker version -f x >/dev/null && cat {HOST_KEY}")
        if code != 0:
            raise LabError(f"{self.name}: {err.strip()}")
        return " ".join(out.split()[:2]) if self._answers_ssh() else None

    def _answers_ssh(self) -> bool:
        try:
            with socket.create_connection((self.address, 22), timeout=2) as link:
                return link.recv(4) == b"SSH-"
        except OSError:
            return False

    def _answers_docker(self) -> bool:
        return self.attempt(["docker", "version", "-f", "x"])[0] == 0

    def _spawn(self, service: str, *prefix: str) -> None:
        self.spawn([*prefix, "/usr/local/sbin/lab-boot", service])
