from typing import Any

import pytest

from hvdocker.observe.state import ClusterState, ContainerSeen, ImageSeen, image_content
from hvdocker.protocol.placement import Share
from hvdocker.protocol.resilience import Elastic
from tests.unit.builders import host_seen, master


def container(name: str, role: str, state: str = "running", created: int = 0, host: str = "a") -> ContainerSeen:
    labels = {"hvdocker.role": role, "hvdocker.host": host, "hvdocker.job": name}
    return ContainerSeen(f"id-{name}", name, state, "sha256:1", labels, created)


def test_jobs_newest_first_and_once_where_hosts_share_an_engine() -> None:
    old, new = container("old", "master", "exited", 1), container("new", "master", created=2)
    worker = container("w", "worker")
    shared = (old, worker, new)
    state = ClusterState({name: host_seen(name, containers=shared) for name in ("a", "b")})
    assert state.masters() == [new, old]
    assert state.running_jobs() == [new]
    assert state.workers() == {"a": worker}


def test_a_worker_is_that_of_its_own_host() -> None:
    mine, other = container("w1", "worker"), container("w2", "worker", host="b")
    seen = host_seen("a", containers=(other, mine))
    assert seen.worker("a") == mine
    assert seen.worker("c") is None
    assert seen.masters == ()


def test_a_container_without_labels_is_nothing_of_ours() -> None:
    stranger = ContainerSeen("id", "redis", "running", "sha256:2", {})
    assert (stranger.role, stranger.job, stranger.host) == ("", "", "")
    assert host_seen("a", containers=(stranger,)).worker("") is None


CLASSIC = {
    "Id": "sha256:f1",
    "Architecture": "amd64",
    "Os": "linux",
    "Size": 222,
    "Config": {
        "Hostname": "",
        "Env": ["PATH=/bin", "LANG=C"],
        "Cmd": ["/bin/bash"],
        "Entrypoint": None,
        "Volumes": None,
        "ExposedPorts": {},
        "Image": "sha256:parent",
        "Labels": {"a": "1", "b": "2"},
        "User": "",
    },
    "RootFS": {"Type": "layers", "Layers": ["sha256:l1", "sha256:l2"]},
}
# The same image, as an engine with containerd's store describes it.
STORED = {
    "Id": "sha256:manifest",
    "Architecture": "amd64",
    "Os": "linux",
    "Size": 333,
    "Config": {"Labels": {"b": "2", "a": "1"}, "Cmd": ["/bin/bash"], "Env": ["PATH=/bin", "LANG=C"]},
    "RootFS": {"Type": "layers", "Layers": ["sha256:l1", "sha256:l2"]},
}


def test_an_images_content_is_the_same_on_every_engine() -> None:
    assert image_content(CLASSIC) == image_content(STORED)


@pytest.mark.parametrize(
    "change",
    [
        {"Architecture": "arm64"},
        {"RootFS": {"Layers": ["sha256:l2", "sha256:l1"]}},
        {"Config": {**STORED["Config"], "Env": ["LANG=C", "PATH=/bin"]}},
        {"Config": {**STORED["Config"], "User": "1000"}},
        {"Config": {**STORED["Config"], "Labels": {"a": "1"}}},
    ],
    ids=["architecture", "layers", "environment", "user", "labels"],
)
def test_another_image_has_another_content(change: dict[str, Any]) -> None:
    assert image_content({**STORED, **change}) != image_content(STORED)


def test_an_image_that_was_seen_without_its_content_goes_by_its_id() -> None:
    assert ImageSeen("sha256:f1", "amd64", 1, True).content == "sha256:f1"


def test_a_container_is_on_the_host_whose_engine_has_it_whatever_its_label_says() -> None:
    """Another inventory may have named the hosts the other way round."""
    odd = container("w", "worker", host="a")
    state = ClusterState({"a": host_seen("a"), "b": host_seen("b", containers=(odd,))})
    assert state.host_of(odd) == "b"
    shared = ClusterState({name: host_seen(name, containers=(odd,)) for name in ("b", "a")})
    assert shared.host_of(odd) == "a"


@pytest.mark.parametrize(
    ("label", "elastic"),
    [("2:8", Elastic(2, 8)), ("2:", Elastic(2)), ("", None), (":8", None), ("2:x", None), ("x:8", None)],
)
def test_a_master_tells_within_which_bounds_its_job_grows(label: str, elastic: Elastic | None) -> None:
    assert ContainerSeen("m", "m", "running", "i", {"hvdocker.elastic": label}).elastic == elastic


@pytest.mark.parametrize(
    ("cluster", "job", "state", "has_joined"),
    [
        ("lab", "train-abcd", "running", True),
        ("lab", "train-abcd", "exited", True),
        ("lab", "train-abcd", "created", False),
        ("lab", "train-aaaa", "running", False),
        ("lab", "", "running", False),
        ("theirs", "train-abcd", "running", False),
    ],
)
def test_which_job_a_worker_joined(cluster: str, job: str, state: str, has_joined: bool) -> None:
    labels = {"hvdocker.cluster": cluster, "hvdocker.joined": job, "hvdocker.gpus": "GPU-1,GPU-2",
              "hvdocker.share": "1", "hvdocker.host": "c"}  # fmt: skip
    worker = ContainerSeen("w", "w", state, "i", labels)
    assert worker.has_joined(master("train-abcd", "{}")) is has_joined
    assert worker.joined_share == Share("c", 1, ("GPU-1",))


def test_a_share_that_cannot_be_read_is_none() -> None:
    assert ContainerSeen("w", "w", "running", "i", {"hvdocker.share": "-1"}).joined_share == Share("", 0)
