"""Asking about unknown host keys: never where nobody can answer."""

from hvdocker.errors import UnknownHostKey
from hvdocker.ops.env import Env
from hvdocker.ops.session import _may_trust

UNKNOWN = [
    UnknownHostKey("a", "[10.0.0.11]:22", "ssh-ed25519", "AAAA", "SHA256:abc", "/home/me/.ssh/known_hosts")
]


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
