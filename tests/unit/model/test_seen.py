from hvdocker.model.seen import ClusterState, ContainerSeen
from tests.unit.builders import host_seen


def container(
    name: str, role: str, state: str = "running", created: int = 0, host: str = "a"
) -> ContainerSeen:
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
