"""One host of the lab: what a test may ask of it and do to it, all through the machine's engine."""

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

OPEN = """
set -e
iptables -w -F INPUT
iptables -w -F OUTPUT
for link in /sys/class/net/*; do tc qdisc del dev "${link##*/}" root 2>/dev/null || true; done
"""

# A few programs of the host with their libraries: an image of some MB that needs no registry.
TINY = """
set -e
programs=$(for name in sh env cat sleep id ip hostname; do command -v "$name"; done)
libraries=$(for program in $programs; do ldd "$program"; done | grep -o '/[^ ]*' | sort -u)
tar -chP $programs $libraries | docker import -c 'CMD ["sleep", "infinity"]' - "$1"
"""


@dataclass(frozen=True)
class LabHost:
    name: str
    address: str
    suite: str
    engine: docker.APIClient
    private_key: Path

    @property
    def container(self) -> str:
        return f"{NETWORK}-{self.name}"

    def key(self, user: str = "trainer") -> Path:
        """The private key that logs in as that user: one pair serves all of them."""
        if user not in USERS:
            raise LabError(f"{self.name}: no user {user}; there are {', '.join(USERS)}")
        return self.private_key

    # Asking and telling

    def exec(self, command: str | Sequence[str], check: bool = True, user: str = "root") -> str:
        """Standard output of a command on the host; a string is a line for its shell."""
        code, out, err = self.attempt(command, user)
        if check and code != 0:
            line = command if isinstance(command, str) else shlex.join(command)
            raise LabError(f"{self.name}: `{line}` as {user} ended with {code}:\n{out}{err}")
        return out

    def attempt(self, command: str | Sequence[str], user: str = "root") -> tuple[int, str, str]:
        """Exit status, standard output and standard error of a command on the host."""
        argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
        try:
            made = self.engine.exec_create(self.container, argv, user=user)
            out, err = self.engine.exec_start(made["Id"], demux=True)
            code = self.engine.exec_inspect(made["Id"])["ExitCode"]
        except docker.errors.APIError as error:
            raise LabError(f"{self.name}: {error.explanation or error}") from error
        return code, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace")

    def spawn(self, argv: Sequence[str], user: str = "root") -> None:
        """Starts a command that goes on by itself."""
        made = self.engine.exec_create(self.container, list(argv), user=user)
        self.engine.exec_start(made["Id"], detach=True)

    def docker(self, *argv: str) -> str:
        return self.exec(["docker", *argv])

    def containers(self) -> list[dict[str, Any]]:
        """All containers on the host, as `docker inspect` shows them."""
        ids = self.docker("ps", "-aq").split()
        return list(json.loads(self.docker("inspect", *ids))) if ids else []

    def has_image(self, reference: str) -> bool:
        return self.attempt(["docker", "image", "inspect", reference])[0] == 0

    def load(self, reference: str) -> None:
        """Copies an image of the machine's engine to the host's, unless the same one is there."""
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
        """An image of a few megabytes on the host, made there of its own shell and `ip`."""
        if not self.has_image(tag):
            self.exec(["sh", "-c", TINY, "tiny", tag])
        return tag

    def logs(self, lines: int = 30) -> str:
        return bytes(self.engine.logs(self.container, tail=lines)).decode(errors="replace")

    # Breaking and mending

    def stop_sshd(self) -> None:
        """Ends the server and its sessions, and no sshd that a container runs."""
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
        """`machine`: the kernel's word for the CPU that the engine is told it runs on, such as i686."""
        if not self._answers_docker():
            self._spawn("engine", *(["setarch", machine] if machine else []))
            until(lambda: self._answers_docker() or None, f"{self.name}: engine answers", READY_S)

    def kill(self) -> None:
        """Power off: every process of the host is gone at once."""
        self.engine.kill(self.container)

    def start(self) -> None:
        """Power on, with disk and host key as they were."""
        self.engine.start(self.container)
        self.wait_ready()

    def reset(self) -> None:
        """As new, but for its images: no containers, networks, volumes, files of ours, packet filters."""
        self.mend()
        self.exec(RESET)

    def mend(self) -> None:
        """Undoes what a test may have stopped or cut off."""
        self.exec(OPEN)
        self.start_engine()
        self.start_sshd()

    # Health

    def wait_ready(self) -> str:
        """Waits until engine and sshd answer; the host's public key."""
        try:
            return until(self.probe, f"{self.name} is ready", READY_S)
        except LabError as error:
            raise LabError(f"{error}\n{self.logs()}") from error

    def probe(self) -> str | None:
        """The host's public key, when its engine and its sshd answer."""
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
