"""Pushing and pulling: credentials, and what a registry's refusal means."""

from typing import Any

import pytest

from hvdocker.errors import HostUnfit, HvdockerError, UsageProblem
from hvdocker.hosts.images.registry import credentials, demand_same, push

NAMES = ("HVDOCKER_REGISTRY_USER", "HVDOCKER_REGISTRY_PASSWORD")


def test_credentials_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    assert credentials() is None
    monkeypatch.setenv(NAMES[0], "ann")
    with pytest.raises(UsageProblem, match="go together"):
        credentials()
    monkeypatch.setenv(NAMES[1], "secret")
    assert credentials() == {"username": "ann", "password": "secret"}


class Engine:
    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages, self.said = messages, list[tuple[str, ...]]()

    def tag(self, *words: str) -> None:
        self.said.append(("tag", *words))

    def push(self, repository: str, tag: str, **how: object) -> Any:
        self.said.append(("push", repository, tag))
        return iter(self.messages)

    def remove_image(self, reference: str) -> None:
        self.said.append(("remove", reference))


def pushed(engine: Engine) -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    client: Any = engine  # Any: stands in for an APIClient
    push(client, "x:y", "reg:5000/team", lambda done, total: told.append((done, total)))
    return told


def test_a_push_counts_bytes_and_takes_its_name_away() -> None:
    engine = Engine(
        {"status": "Preparing", "id": "a"},
        {"id": "a", "progressDetail": {"current": 1, "total": 10}},
        {"id": "b", "progressDetail": {"current": 5, "total": 20}},
    )
    assert pushed(engine) == [(1, 10), (6, 30)]
    assert engine.said == [
        ("tag", "x:y", "reg:5000/team/x", "y"),
        ("push", "reg:5000/team/x", "y"),
        ("remove", "reg:5000/team/x:y"),
    ]


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("unauthorized: authentication required", "HVDOCKER_REGISTRY_USER"),
        ("http: server gave HTTP response to HTTPS client", "insecure-registries"),
        ("manifest unknown", "image push puts it there"),
        ("dial tcp: i/o timeout", "reach the registry"),
    ],
)
def test_a_refusal_says_what_to_do(said: str, fix: str) -> None:
    engine = Engine({"error": said})
    with pytest.raises(HvdockerError, match="pushing x:y to reg:5000/team failed") as caught:
        pushed(engine)
    assert list(caught.value.lines) == [said] and fix in (caught.value.fix or "")
    assert engine.said[-1] == ("remove", "reg:5000/team/x:y")


def test_two_builds_of_one_tag_are_an_error() -> None:
    demand_same({"a": "1", "b": "1"})
    demand_same({})
    with pytest.raises(HostUnfit, match="different builds"):
        demand_same({"a": "1", "b": "2"})
