"""What engines are asked, and what is made of their answers."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from hvdocker.observe.engine import ask_engine, see_containers, see_own_and_other_containers
from hvdocker.observe.probe import read_probe
from hvdocker.observe.state import ContainerSeen, EngineSeen, image_content
from tests.unit.builders import inventory
from tests.unit.fakes import FakeLink

IMAGE = {"Id": "sha256:i", "Architecture": "amd64", "Size": 7, "RootFS": {"Layers": ["sha256:l"]}}


class Engine:
    def containers(self, all: bool, filters: dict[str, list[str]]) -> list[dict[str, object]]:
        assert all and filters == {"label": ["hvdocker.cluster"]}
        first = {"Id": "1" * 64, "Names": ["/w"], "State": "running", "ImageID": "sha256:a", "Created": 7}
        ended = {**first, "State": "exited", "Status": "Exited (137) 2 hours ago"}
        return [{**first, "Labels": {"hvdocker.cluster": "lab"}}, {**first, "Names": None}, ended]


def test_only_containers_with_a_clusters_label_are_looked_at() -> None:
    found = (
        ContainerSeen("1" * 64, "w", "running", "sha256:a", {"hvdocker.cluster": "lab"}, 7),
        ContainerSeen("1" * 64, "1" * 12, "running", "sha256:a", {}, 7),
        ContainerSeen("1" * 64, "w", "exited", "sha256:a", {}, 7, exit_code=137),
    )
    assert see_containers(Engine()) == found
    assert see_own_and_other_containers(Engine(), "lab") == (found[:1], found[1:])


@dataclass
class Asked(FakeLink):
    """A link whose engine has the image and one container, and counts who asks it about itself."""

    image_id: str = "sha256:i"
    labels: dict[str, str] = field(default_factory=dict)
    state: str = "running"
    infos: int = 0
    engine_version = "20.10.24"

    def engine(self) -> "Asked":  # type: ignore[override]  # it is both
        return self

    def info(self) -> dict[str, Any]:
        self.infos += 1
        return {"ServerVersion": "20.10.24", "Architecture": "x86_64", "MemTotal": 4096}

    def inspect_image(self, reference: str) -> dict[str, Any]:
        return IMAGE

    def containers(self, all: bool, filters: object) -> list[dict[str, Any]]:
        labels = {"hvdocker.role": "worker", "hvdocker.cluster": "lab", **self.labels}
        return [{"Id": "c", "State": self.state, "ImageID": self.image_id, "Labels": labels, "Created": 7}]


@pytest.mark.parametrize(
    ("link", "infos"),
    [
        (Asked(), 0),
        (Asked(image_id="sha256:layer", labels={"hvdocker.base": image_content(IMAGE)}), 0),
        (Asked(image_id="sha256:other"), 1),
        (Asked(state="exited"), 1),
        (Asked(labels={"hvdocker.role": "master"}), 1),
    ],
    ids=["runs it", "with requirements", "another image", "has ended", "no worker"],
)
def test_an_engine_is_asked_who_it_is_unless_it_runs_the_worker(link: Asked, infos: int) -> None:
    told = ask_engine(link, inventory("hosts: [a]"))
    assert link.infos == infos
    arch = "x86_64" if infos else "amd64"
    assert told.engine(read_probe("memory 2\n")) == EngineSeen("20.10.24", arch, 2048)


def test_the_engine_tells_the_memory_where_the_probe_cannot() -> None:
    told = ask_engine(Asked(state="exited"), inventory("hosts: [a]"))
    assert told.engine(read_probe("")) == EngineSeen("20.10.24", "x86_64", 4096)
