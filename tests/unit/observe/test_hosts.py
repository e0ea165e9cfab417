from dataclasses import dataclass

import docker.errors
import pytest

from hvdocker.errors import CommandTimeout, HostUnfit
from hvdocker.observe.gpu_query import GpuAnswer
from hvdocker.observe.hosts import _listening_ports, _probe, choose_engine_access, refresh_state, see_gpus
from hvdocker.observe.probe import read_probe
from hvdocker.observe.state import ContainerSeen
from hvdocker.shell.command import Command
from hvdocker.transport.ssh.link import EngineAccess
from tests.unit.builders import host_seen, inventory, state_of
from tests.unit.fakes import FakeLink

LAB = inventory("hosts: [a]\nmounts: ['/data:/data']\n")
CUT_SHORT = "the host could not be probed: its shell did not run our script"
DENIED = "socket denied /var/run/docker.sock\n"


@pytest.mark.parametrize(
    ("text", "access"),
    [
        ("socket ok /var/run/docker.sock\n", EngineAccess("/var/run/docker.sock")),
        (
            DENIED + "socket ok /run/user/1/docker.sock\ncli yes\nsudo yes\n",
            EngineAccess("/run/user/1/docker.sock", has_cli=True),
        ),
        (DENIED + "cli yes\nsudo yes\n", EngineAccess("/var/run/docker.sock", uses_cli=True, needs_sudo=True)),
    ],
    ids=["socket", "rootless", "sudo"],
)
def test_how_the_engine_is_reached(text: str, access: EngineAccess) -> None:
    assert choose_engine_access(read_probe(text), FakeLink("a")) == access


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        (DENIED, "this user may not open the Docker socket", "permission denied: /var/run/docker.sock"),
        (
            DENIED + "cli yes\n",
            "this user may not open the Docker socket",
            "permission denied: /var/run/docker.sock",
        ),
        (
            "cli yes\nsudo yes\n",
            "no Docker engine is running: there is no Docker socket",
            "the docker CLI is there, the engine is not",
        ),
        ("", "no Docker engine is running: there is no Docker socket", "docker is not installed"),
    ],
)
def test_why_it_cannot_be_reached(text: str, what: str, line: str) -> None:
    with pytest.raises(HostUnfit) as caught:
        choose_engine_access(read_probe(text), FakeLink("a"))
    assert (caught.value.host, caught.value.what, caught.value.lines) == ("a", what, (line,))
    assert caught.value.fix and caught.value.exit_code == 3


def test_sudo_that_wants_a_terminal_is_told_as_such() -> None:
    said = "sudo: sorry, you must have a tty to run sudo"
    with pytest.raises(HostUnfit) as caught:
        choose_engine_access(read_probe(f"{DENIED}cli yes\nnosudo {said}\n"), FakeLink("a"))
    assert caught.value.what.endswith("and sudo works on a terminal only (requiretty)")
    assert caught.value.lines[1] == said and "!requiretty" in str(caught.value.fix)


def test_sudo_that_wants_a_password_is_quoted() -> None:
    with pytest.raises(HostUnfit, match=r"may not open the Docker socket$") as caught:
        choose_engine_access(read_probe(f"{DENIED}cli yes\nnosudo sudo: a password is required\n"), FakeLink("a"))
    assert caught.value.lines[1] == "sudo: a password is required" and "usermod" in str(caught.value.fix)


def test_fixes_put_a_user_into_the_group_docker_who_could_not_open_the_socket_otherwise() -> None:
    def fix(text: str) -> str | None:
        with pytest.raises(HostUnfit) as caught:
            choose_engine_access(read_probe(text), FakeLink("a"))
        return caught.value.fix

    join = "sudo usermod -aG docker ada"
    assert fix(f"user ada\nuid 1000\n{DENIED}") == f"on the host: {join} (or allow passwordless sudo)"
    assert fix("user ada\nuid 1000\n") == f"install Docker: sudo apt-get install docker.io && {join}"
    assert fix("user ada\nuid 1000\ncli yes\n") == f"sudo systemctl start docker && {join}"
    for may_open in ("uid 1000\ndockergroup yes\n", "uid 1000\nsudo yes\n", "uid 0\n"):
        assert fix(f"user ada\n{may_open}cli yes\n") == "sudo systemctl start docker"
    assert "usermod -aG docker $USER" in str(fix(f"user uid=1000\nuid 1000\n{DENIED}"))


def test_the_probe_asks_for_the_mounts() -> None:
    link = FakeLink("a", lambda command, stdin: (0, b"uid 7\ndone\n", b""))
    assert _probe(link, LAB).number("uid", 0) == 7
    [(command, _)] = link.ran
    assert command.argv[-3:] == ("lab", "a", "/data")


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (b"uid 7\n", CUT_SHORT),
        (b"This account is currently not available.\n", CUT_SHORT),
        (b"lacks tar\nlacks find\ndone\n", "the host lacks tar, find"),
    ],
)
def test_a_host_that_cannot_be_probed(said: bytes, what: str) -> None:
    with pytest.raises(HostUnfit) as caught:
        _probe(FakeLink("a", lambda command, stdin: (1, said, b"")), LAB)
    assert caught.value.what == what


def test_an_nvidia_smi_that_hangs_is_left_alone() -> None:
    def hang(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
        raise CommandTimeout("a command took longer than 12 s")

    assert see_gpus(FakeLink("a", hang)) == GpuAnswer(error="nvidia-smi did not answer within 10 s")


def worker(**changes: object) -> ContainerSeen:
    labels = {"hvdocker.role": "worker", "hvdocker.host": "a", "hvdocker.port": "12346"}
    return ContainerSeen("id", "w", "running", "sha256:i", labels | changes.pop("labels", {}), 1, **changes)


LISTENS = "listens 0016\nlistens 3039\ndone\n"


@pytest.mark.parametrize(
    ("text", "seen", "ports", "commands"),
    [
        ("hosts: [a]", [worker()], {12346}, 0),
        ("hosts: [a]\nport: 12346", [worker()], {12346}, 0),
        ("hosts: [a]\nport: 22", [worker()], {22, 12345}, 1),
        ("hosts: [a]", [worker(labels={"hvdocker.host": "b"})], {22, 12345}, 1),
        ("hosts: [a]", [], {22, 12345}, 1),
    ],
    ids=["runs", "runs where it should", "is to move", "another host's", "none"],
)
def test_who_listens_is_asked_only_where_it_matters(
    text: str, seen: list[ContainerSeen], ports: set[int], commands: int
) -> None:
    link = FakeLink("a", lambda command, stdin: (0, LISTENS.encode(), b""))
    assert _listening_ports(link, inventory(text), seen) == ports
    assert len(link.ran) == commands


@dataclass
class OwnEngine:
    """Has one container of the cluster and one of another, whose state is `state`, and no image."""

    state: str

    def containers(self, all: bool, filters: object) -> list[dict[str, object]]:
        labels = {"hvdocker.role": "worker", "hvdocker.host": "a", "hvdocker.port": "12345"}
        one = {"State": "exited", "ImageID": "sha256:i", "Created": 7}
        return [
            {**one, "Id": "new", "Labels": labels | {"hvdocker.cluster": "lab"}},
            {**one, "Id": "kims", "Labels": labels | {"hvdocker.cluster": "kims"}, "State": self.state},
        ]

    def inspect_image(self, reference: str) -> object:
        raise docker.errors.ImageNotFound(reference)


class EngineLink(FakeLink):
    state = "exited"

    def engine(self) -> OwnEngine:  # type: ignore[override]  # another stand-in
        return OwnEngine(self.state)


@pytest.mark.parametrize(
    ("state", "ports", "commands"),
    [("exited", {7}, 0), ("running", {12345, 22}, 1)],
    ids=["nothing runs that did not", "a worker of others"],
)
def test_looking_again_sees_what_others_changed_and_asks_for_nothing_else(
    state: str, ports: set[int], commands: int
) -> None:
    before = state_of(host_seen("a", home="/home/kim", listening_ports=frozenset({7})))
    link = EngineLink("a", lambda command, stdin: (0, LISTENS.encode(), b""))
    link.state = state
    after = refresh_state(LAB, {"a": link}, before)
    seen = after.hosts["a"]
    assert [container.id for container in seen.containers] == ["new"] and seen.image is None
    assert [container.id for container in seen.other_containers] == ["kims"]
    assert (seen.listening_ports, seen.home) == (ports, "/home/kim")
    assert len(link.ran) == commands


def test_the_ports_in_the_answer_to_the_probe_are_not_asked_for_again() -> None:
    link = FakeLink("a", lambda command, stdin: (0, LISTENS.encode(), b""))
    assert _listening_ports(link, LAB, [], read_probe("ports yes\nport 22\ndone\n")) == {22}
    assert _listening_ports(link, LAB, [], read_probe("clusterdir /h\ndone\n")) == {22, 12345}
    assert len(link.ran) == 1
