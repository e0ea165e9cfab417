"""What an earlier doctor left, and what another one is using."""

from dataclasses import dataclass, field

import pytest

from hvdocker.doctor.pairs.probe_containers import STALE_AFTER_S, remove_stale_probe_container
from hvdocker.errors import HostUnfit
from hvdocker.observe.state import ContainerSeen
from tests.unit.fakes import FakeLink

NAME = "hvdocker-lab-doctor"
NOW = 10_000.0


@dataclass
class Engine:
    removed: list[str] = field(default_factory=list)

    def remove_container(self, container: str, force: bool, v: bool) -> None:
        assert force and v
        self.removed.append(container)


class Link(FakeLink):
    def engine(self) -> Engine:  # type: ignore[override]  # another stand-in
        return self.kept


def link() -> Link:
    made = Link(answer=lambda command, data: (0, f"{NOW}\n".encode(), b""))
    made.kept = Engine()  # type: ignore[attr-defined]
    return made


def container(state: str, age_s: float = 1, role: str = "doctor", name: str = NAME) -> ContainerSeen:
    return ContainerSeen(f"id-{state}", name, state, "sha256:a", {"hvdocker.role": role}, created=int(NOW - age_s))


@pytest.mark.parametrize(
    ("seen", "removed"),
    [
        (container("created"), ["id-created"]),
        (container("exited"), ["id-exited"]),
        (container("running", age_s=STALE_AFTER_S + 1), ["id-running"]),
        (container("exited", role="worker"), []),
        (container("created", name=f"{NAME}-trial"), []),
        (container("running", name=f"{NAME}-trial"), []),
    ],
)
def test_only_what_was_left_is_removed(seen: ContainerSeen, removed: list[str]) -> None:
    here = link()
    remove_stale_probe_container(here, NAME, [seen])
    assert here.engine().removed == removed


def test_a_doctor_at_work_is_left_alone_and_told() -> None:
    here = link()
    with pytest.raises(HostUnfit, match="another doctor is at work") as caught:
        remove_stale_probe_container(here, NAME, [container("running")])
    assert here.engine().removed == [] and f"docker rm -f {NAME}" in (caught.value.fix or "")
