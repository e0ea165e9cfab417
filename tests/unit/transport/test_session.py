"""Asking about unknown host keys and passphrases: never where nobody can answer, and never without end."""

import subprocess
from pathlib import Path

import paramiko
import pytest

from hvdocker.env import Env
from hvdocker.errors import HostErrors, HostUnreachable, PassphraseRequired, UnknownHostKey
from hvdocker.events import Event
from hvdocker.images.default_image import with_default_image
from hvdocker.inventory.locate import Located
from hvdocker.transport.session import Session, _may_trust, _unlock_key_files, connected
from hvdocker.transport.ssh.key_pairs import make_pair
from tests.unit.builders import inventory
from tests.unit.fakes import Answer, FakeLink

UNKNOWN = [UnknownHostKey("a", "[10.0.0.11]:22", "ssh-ed25519", "AAAA", "SHA256:abc", "/home/me/.ssh/known_hosts")]


def test_a_flag_is_an_answer() -> None:
    assert _may_trust(Env(), UNKNOWN, accept_new=True)


def test_without_a_terminal_nobody_is_asked() -> None:
    def never(question: str) -> bool:
        raise AssertionError(question)

    assert not _may_trust(Env(ask=never), UNKNOWN, accept_new=False)


def test_a_person_sees_the_fingerprints() -> None:
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return True

    assert _may_trust(Env(ask=ask, is_interactive=True), UNKNOWN, accept_new=False)
    assert "a  [10.0.0.11]:22  ssh-ed25519 SHA256:abc" in asked[0]


def test_whose_containers_they_are() -> None:
    assert Env(environ={"HVDOCKER_OWNER": "team"}).maker().owner == "team"
    assert Env(environ={}).maker().owner


class Server:
    """Stands in for paramiko's client where it would talk to a server: shows that server's host key."""

    def __init__(self, folder: Path) -> None:
        path = folder / "host_key"
        path.write_text(make_pair().private.reveal())
        self.key = paramiko.Ed25519Key.from_private_key_file(str(path))
        self.shown = 0

    def connect(self, client: paramiko.SSHClient, hostname: str, **settings: object) -> None:
        self.shown += 1
        assert self.shown < 10, "it goes on without end"
        client._policy.missing_host_key(client, hostname, self.key)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A home of the test's own, whose hosts are reached through a ProxyCommand: no socket is opened."""
    server = Server(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(paramiko.SSHClient, "connect", lambda client, **words: server.connect(client, **words))
    monkeypatch.setattr(paramiko.SSHClient, "get_transport", lambda client: Asleep())
    return server


class Asleep:
    active = True

    def is_active(self) -> bool:
        return False


def known_hosts_at(home: Path, path: str) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text(f"Host *\n  ProxyCommand true\n  UserKnownHostsFile {path}\n")


def located(folder: Path, text: str = "hosts: [gpu-a]") -> Located:
    return Located(inventory(text), folder / "inventory.yaml")


def test_hosts_that_are_awaited_are_named(tmp_path: Path, server: Server) -> None:
    known_hosts_at(tmp_path, "/dev/null")
    told: list[Event] = []
    hosts = located(tmp_path, "hosts: [a, b, c, d, e, f]")
    with connected(Env(cwd=tmp_path, listener=told.append), hosts, must_all=False):
        pass
    texts = [event.text for event in told if event.stage == "connect"]
    assert texts[0] == "connecting to a, b, c, d and 2 more"
    assert texts[-1] == "connected" and all(text.startswith("waiting for ") for text in texts[1:-1])
    assert len(texts) == 7


def test_a_known_hosts_file_that_keeps_nothing_does_not_ask_for_ever(tmp_path: Path, server: Server) -> None:
    known_hosts_at(tmp_path, "/dev/null")
    with connected(Env(cwd=tmp_path), located(tmp_path), accept_new=True) as session:
        assert list(session.links) == ["gpu-a"]
    assert server.shown == 2


def test_a_known_hosts_file_that_cannot_be_written_stops_nothing(tmp_path: Path, server: Server) -> None:
    (tmp_path / "mine").symlink_to("/nowhere/known_hosts")
    known_hosts_at(tmp_path, "~/mine")
    heard: list[str] = []
    env = Env(cwd=tmp_path, listener=lambda event: heard.append(event.text))
    with connected(env, located(tmp_path), accept_new=True) as session:
        assert not session.failed
    assert [line for line in heard if "for this run only" in line and "/mine cannot be written" in line]


def test_an_accepted_key_is_remembered_in_the_file_that_ssh_reads(tmp_path: Path, server: Server) -> None:
    known_hosts_at(tmp_path, "~/mine ~/another")
    for _ in range(2):
        with connected(Env(cwd=tmp_path), located(tmp_path), accept_new=True) as session:
            assert session.failed == {}
    assert (tmp_path / "mine").read_text() == f"gpu-a ssh-ed25519 {server.key.get_base64()}\n"
    assert not (tmp_path / "another").exists()
    assert server.shown == 3


def test_a_key_that_nobody_accepts_is_an_error_of_every_host(tmp_path: Path, server: Server) -> None:
    known_hosts_at(tmp_path, "~/mine")
    two = located(tmp_path, "hosts: [gpu-a, gpu-b]")
    with pytest.raises(HostErrors) as caught, connected(Env(cwd=tmp_path), two):
        pass
    assert [type(error) for error in caught.value.errors] == [UnknownHostKey, UnknownHostKey]
    assert not (tmp_path / "mine").exists()


def test_a_broken_line_about_the_host_in_known_hosts_is_told(tmp_path: Path, server: Server) -> None:
    known_hosts_at(tmp_path, "~/mine")
    (tmp_path / "mine").write_text("gpu-a ssh-ed25519 AAA\n")
    with pytest.raises(UnknownHostKey) as caught, connected(Env(cwd=tmp_path), located(tmp_path)):
        pass
    assert caught.value.lines == (f"line 1 of {tmp_path}/mine is about gpu-a, but is no host key",)


def test_a_host_is_known_under_its_alias(tmp_path: Path, server: Server) -> None:
    known_hosts_at(tmp_path, "~/mine")
    with (tmp_path / ".ssh" / "config").open("a") as config:
        config.write("  HostKeyAlias gpu1\n  Port 2222\n")
    (tmp_path / "mine").write_text(f"gpu1 ssh-ed25519 {server.key.get_base64()}\n")
    with connected(Env(cwd=tmp_path), located(tmp_path)) as session:
        assert list(session.links) == ["gpu-a"]
    (tmp_path / "mine").write_text("")
    with connected(Env(cwd=tmp_path), located(tmp_path), accept_new=True):
        assert (tmp_path / "mine").read_text().startswith("gpu1 ssh-ed25519 ")


class Person:
    """Types these answers, one a question."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, question: str) -> str:
        self.asked.append(question)
        return self.answers.pop(0)

    def env(self, is_interactive: bool = True) -> Env:
        return Env(ask_secret=self, is_interactive=is_interactive)


@pytest.fixture
def locked_key(tmp_path: Path) -> str:
    path = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", path], check=True)
    return str(path)


def test_a_passphrase_is_asked_once_for_all_hosts(locked_key: str) -> None:
    person = Person("open sesame")
    env = person.env()
    assert _unlock_key_files(env, {name: PassphraseRequired(locked_key) for name in "abc"}) == set("abc")
    assert person.asked == [f"Passphrase of {locked_key}"]
    assert env.passphrases == {locked_key: "open sesame"} and "sesame" not in repr(env)


@pytest.mark.parametrize("answers", [("no", "never", "nope"), ("",), ("no", "")])
def test_a_passphrase_that_nobody_knows_is_given_up(locked_key: str, answers: tuple[str, ...]) -> None:
    person = Person(*answers)
    errors = {"a": PassphraseRequired(locked_key)}
    assert _unlock_key_files(person.env(), errors) == set()
    assert len(person.asked) == len(answers)
    assert "no passphrase fitted" in str(errors["a"]) and errors["a"].exit_code == 4


def test_a_second_try_may_be_the_right_one(locked_key: str) -> None:
    assert _unlock_key_files(Person("no", "open sesame").env(), {"a": PassphraseRequired(locked_key)}) == {"a"}


def test_without_a_terminal_a_locked_key_says_what_to_do(locked_key: str) -> None:
    errors = {"a": PassphraseRequired(locked_key), "b": HostUnreachable("down")}
    assert _unlock_key_files(Person().env(is_interactive=False), errors) == set()
    assert "ssh-add" in (errors["a"].fix or "")


@pytest.mark.parametrize(
    ("text", "counts", "image"),
    [
        ("hosts: [a, b]", ("0", "2"), "doc-hvd:gpu"),
        ("hosts: [a, b]", ("0", "0"), "doc-hvd:cpu"),
        ("{hosts: [a, b], image: mine}", ("1", "2"), "mine"),
        # Local workers share one machine: where they cannot have a GPU each, none has.
        ("local: 2", ("2", ""), "doc-hvd:gpu"),
        ("local: 2", ("1", ""), "doc-hvd:cpu"),
    ],
)
def test_the_image_where_none_is_named(text: str, counts: tuple[str, str], image: str) -> None:
    wanted = Located(inventory(text), Path("inventory.yaml"))
    names = [host.name for host in wanted.inventory.hosts]

    def answering(count: str) -> Answer:
        return lambda command, stdin: (0, f"count {count}\n".encode(), b"")

    links = {name: FakeLink(name, answering(count)) for name, count in zip(names, counts, strict=True)}
    assert with_default_image(wanted, Session(links, {})).inventory.image == image
