"""Pushing and pulling: credentials, names that are borrowed, and what a registry's refusal means."""

from typing import Any

import pytest
from docker.errors import ImageNotFound

from hvdocker.errors import HostUnfit, HvdockerError, UsageProblem
from hvdocker.images.registry import check_same_content, credentials, pull, push
from hvdocker.images.steps import PullImage
from hvdocker.names import LABEL_IMAGE
from hvdocker.observe.state import image_content

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


def build(number: int) -> dict[str, Any]:
    config = {"Labels": {LABEL_IMAGE: "1"}}
    return {"Id": f"sha256:{number}", "RootFS": {"Layers": [f"sha256:layer-{number}"]}, "Config": config}


class Engine:
    """Images by name; a pull brings what the registry has."""

    def __init__(self, *messages: dict[str, Any], **images: dict[str, Any]) -> None:
        self.messages, self.said = messages, list[tuple[str, ...]]()
        self.images = {"x:y": build(1), **images}
        self.registry = build(2)
        # An image that loses its name is still there.
        self.ids = {image["Id"]: image for image in self.images.values()}

    def inspect_image(self, reference: str) -> dict[str, Any]:
        known = self.ids | self.images
        if reference not in known:
            raise ImageNotFound(reference)
        return known[reference]

    def tag(self, *words: str) -> None:
        self.said.append(("tag", *words))
        self.images[":".join(words[1:])] = self.inspect_image(words[0])

    def push(self, repository: str, tag: str, **how: object) -> Any:
        self.said.append(("push", repository, tag))
        return iter(self.messages)

    def pull(self, repository: str, tag: str, **how: object) -> Any:
        self.said.append(("pull", repository, tag))
        self.images[f"{repository}:{tag}"] = self.registry
        return iter(self.messages)

    def remove_image(self, reference: str) -> None:
        self.said.append(("remove", reference))
        del self.images[reference]


def pushed(engine: Engine, image: str = "x:y") -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    client: Any = engine  # Any: stands in for an APIClient
    push(client, image, "reg:5000/team", lambda done, total: told.append((done, total)))
    return told


def pulled(engine: Engine, image: str = "x:y", **wanted: Any) -> str:
    client: Any = engine  # Any: stands in for an APIClient
    return pull(client, PullImage("a", image, "reg:5000/team", **wanted), lambda done, total: None)


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
    check_same_content({"a": "1", "b": "1"})
    check_same_content({})
    with pytest.raises(HostUnfit, match="different builds"):
        check_same_content({"a": "1", "b": "2"})


def test_what_is_pulled_gets_the_images_own_name_and_no_other() -> None:
    engine = Engine()
    assert pulled(engine, content=image_content(build(2))) == image_content(build(2))
    assert engine.images == {"x:y": build(2)}


@pytest.mark.parametrize("work", [pushed, pulled])
def test_a_name_that_a_person_gave_stays_where_it_was(work: Any) -> None:
    mine = "reg:5000/team/x:y"
    engine = Engine(**{mine: build(7)})
    work(engine)
    assert engine.images[mine] == build(7)


@pytest.mark.parametrize("work", [pushed, pulled])
def test_an_image_that_is_named_after_the_registry_keeps_its_name(work: Any) -> None:
    engine = Engine(**{"reg:5000/team/x:y": build(1)})
    work(engine, "reg:5000/team/x:y")
    assert [words[1:] for words in engine.said] == [("reg:5000/team/x", "y")]
    assert set(engine.images) == {"x:y", "reg:5000/team/x:y"}


def test_another_build_than_this_machines_is_an_error_and_takes_no_name() -> None:
    engine = Engine()
    with pytest.raises(HvdockerError, match="the registry has another build of x:y than this machine") as found:
        pulled(engine, content=image_content(build(1)))
    assert found.value.fix == ("hvdocker image push puts yours there (or remove the image here to use the registry's)")
    assert engine.images == {"x:y": build(1)}


def test_another_build_than_a_hosts_says_whose() -> None:
    with pytest.raises(HvdockerError, match="the registry has another build of x:y than b") as found:
        pulled(Engine(), content=image_content(build(1)), source="b")
    assert "from b to this machine" in (found.value.fix or "")


def test_an_image_that_is_not_made_for_us_takes_no_name() -> None:
    engine = Engine()
    engine.registry = {**build(2), "Config": {}}
    with pytest.raises(HvdockerError, match="is not made for hvdocker"):
        pulled(engine)
    assert engine.images == {"x:y": build(1)}
    pulled(engine, needs_label=False)
    assert engine.images == {"x:y": engine.registry}
