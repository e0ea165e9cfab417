"""What stops `up` is in the doctor's problems, too."""

from dataclasses import replace

import pytest

from hvdocker.doctor.doctor import Problems, _note_owner, _plan_hosts
from hvdocker.observe.state import ImageSeen
from tests.unit.builders import ARM_ENGINE, IMAGE, MAKER, host_seen, host_with_worker, inventory, state_of


@pytest.mark.parametrize(
    ("image", "words"),
    [(None, "is on no host and not on this machine"), (replace(IMAGE, is_ours=False), "is not made for hvdocker")],
)
def test_an_image_that_up_could_not_bring_to_the_hosts(image: ImageSeen | None, words: str) -> None:
    lab = inventory("hosts: [a, b]\nimage: example/mine:1\n")
    _, problems = _plan_hosts(lab, state_of(host_seen("a", image=image), host_seen("b", image=None)))
    for name in ("a", "b"):
        (error,) = problems[name]["image"]
        assert words in error.what and error.fix


def test_an_image_that_up_builds_or_pulls_is_no_problem() -> None:
    for text in ("hosts: [a]\nimage: doc-hvd:base\n", "hosts: [a]\nimage: x/y:1\nregistry: registry.lan:5000\n"):
        assert _plan_hosts(inventory(text), state_of(host_seen("a", image=None)))[1] == {}


def test_hosts_of_two_architectures_are_told_once() -> None:
    _, problems = _plan_hosts(inventory(), state_of(host_seen("a"), host_seen("b", engine=ARM_ENGINE)))
    assert [list(found) for found in problems.values()] == [["architecture"]]


def test_the_cluster_of_another_owner_is_told_because_train_refuses_it() -> None:
    lab, own, foreign = inventory(), Problems(), Problems()
    state = state_of(host_with_worker(lab, "a"), host_seen("b"))
    _note_owner(lab, state, MAKER.owner, own)
    _note_owner(lab, state, "eve", foreign)
    assert own == {} and list(foreign) == ["a"]
    (error,) = foreign["a"]["worker"]
    assert f"belongs to {MAKER.owner}" in error.what and error.lines and error.fix
