"""What `down` refuses and plans, for hosts whose state is given."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from hvdocker.cluster.down import ClusterToRemove, DownOptions, fetch_and_remove, observe_and_plan
from hvdocker.cluster.steps import RemoveContainer, RemoveTree
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.jobs.steps import FetchJobs
from hvdocker.locks.held_locks import HeldLocks
from hvdocker.names import Maker
from hvdocker.observe import hosts as observing
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.plan.plan import CONTROLLER
from hvdocker.transport.link import HostLink
from hvdocker.transport.local_link import LocalLink
from hvdocker.transport.pool import HostOutcomes
from hvdocker.transport.session import Session
from tests.unit.builders import MAKER, host_seen, inventory, master, state_of, worker_as_created


class Down:
    """`down` of a cluster whose hosts are observed as `state`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, state: ClusterState) -> None:
        self.env, self.state = Env(cwd=folder), state
        self.located = Located(inventory(text), folder / "inventory.yaml")
        self.links: Mapping[str, HostLink] = {name: LocalLink(name) for name in state.hosts}
        done: HostOutcomes[HostSeen] = HostOutcomes(dict(state.hosts), {})
        monkeypatch.setattr(observing, "observe_hosts", lambda *words, **more: done)
        monkeypatch.setattr(observing, "cluster_state", lambda *words, **more: state)
        monkeypatch.setattr(Env, "maker", lambda env: Maker(MAKER.owner, MAKER.version))

    def plan(self, **options: bool) -> ClusterToRemove:
        return observe_and_plan(self.env, self.located, self.links, DownOptions(**options), ())


def local_state(count: int, observed: int) -> ClusterState:
    """A local cluster with `count` workers, of which the inventory has the first `observed`."""
    wanted = inventory(f"local: {count}")
    workers: tuple[ContainerSeen, ...] = tuple(
        worker_as_created(wanted, f"w{number}", host_seen(f"w{number}")) for number in range(1, count + 1)
    )
    names = [f"w{number}" for number in range(1, observed + 1)]
    return state_of(*(host_seen(n, containers=workers, cluster_dir=f"/home/me/.hvdocker/lab/{n}") for n in names))


def test_a_local_worker_that_the_inventory_lost_is_refused_with_the_number_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = Down(monkeypatch, tmp_path, "local: 2", local_state(count=10, observed=2))
    with pytest.raises(UsageProblem, match=r"does not have: w3, .*, w9, w10;") as caught:
        down.plan()
    assert caught.value.fix and "hvdocker up --local 10 " in caught.value.fix


def test_discarded_outputs_of_a_lost_local_worker_are_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = Down(monkeypatch, tmp_path, "local: 2", local_state(count=3, observed=2))
    steps = list(down.plan(discard_outputs=True).plan.steps)
    assert [step.id for step in steps if isinstance(step, RemoveContainer)] == ["id-w1", "id-w2", "id-w3"]
    assert [step.path for step in steps if isinstance(step, RemoveTree)] == [
        "/home/me/.hvdocker/lab/w1",
        "/home/me/.hvdocker/lab/w2",
    ]


def test_a_whole_local_cluster_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    down = Down(monkeypatch, tmp_path, "local: 2", local_state(count=2, observed=2))
    assert not down.plan().plan.is_empty


RENAMED = "hosts: [{host: 10.0.0.11, name: a}, {host: 10.0.0.12, name: b}]"


def worker_of(name: str, former: str) -> ContainerSeen:
    """The worker on the host `name`, created when the inventory called the host `former`."""
    worker = worker_as_created(inventory("hosts: [a, b]"), name, host_seen(name))
    return replace(worker, labels={**worker.labels, "hvdocker.host": former})


def test_a_host_that_got_another_name_is_refused_with_both_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = host_seen("a", containers=(worker_of("a", "10.0.0.11"),)), host_seen("b", containers=(worker_of("b", "b"),))
    down = Down(monkeypatch, tmp_path, RENAMED, state_of(*hosts))
    with pytest.raises(UsageProblem, match=r"worker on a was .* the name 10\.0\.0\.11;") as caught:
        down.plan()
    assert caught.value.fix == "give the host `name: 10.0.0.11` in the inventory again, then hvdocker down"
    assert not down.plan(discard_outputs=True).plan.is_empty


def test_two_hosts_that_swapped_names_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = (host_seen(name, containers=(worker_of(name, other),)) for name, other in ("ab", "ba"))
    with pytest.raises(UsageProblem, match=r"worker on a was .* the name b;"):
        Down(monkeypatch, tmp_path, RENAMED, state_of(*hosts)).plan()


def test_a_machine_that_the_inventory_names_twice_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = (host_seen(name, containers=(worker_of("a", "a"),)) for name in "ab")
    assert not Down(monkeypatch, tmp_path, RENAMED, state_of(*hosts)).plan().plan.is_empty


def test_a_renamed_host_with_the_folder_of_an_earlier_version_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = host_seen("a", containers=(worker_of("a", "10.0.0.11"),), cluster_dir="/home/a/.hvdocker/lab")
    assert not Down(monkeypatch, tmp_path, RENAMED, state_of(host)).plan().plan.is_empty


def host_with_code(folder: Path, files: dict[str, str]) -> ClusterState:
    """A host whose folder has these files: a folder of this machine, reached without SSH."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return state_of(host_seen("a", cluster_dir=str(folder)))


@pytest.mark.parametrize(
    ("files", "fetch"),
    [
        (("jobs/train-abcd/job.json", "code/model.h5"), FetchJobs(CONTROLLER, ("train-abcd",))),
        (("code/by-hand.txt",), FetchJobs(CONTROLLER, (), has_other_files=True)),
    ],
)
def test_a_dry_run_names_what_lies_in_the_code_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], fetch: FetchJobs
) -> None:
    state = host_with_code(tmp_path / "host", dict.fromkeys(files, "{}"))
    down = Down(monkeypatch, tmp_path, "hosts: [a]", state)
    assert fetch in down.plan(is_dry_run=True).plan.steps
    assert not any(isinstance(step, FetchJobs) for step in down.plan(is_dry_run=True, discard_outputs=True).plan.steps)


def test_a_folder_that_cannot_be_written_is_found_before_jobs_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = master("train-abcd", "{}")
    down = Down(monkeypatch, tmp_path, "hosts: [a]", state_of(host_seen("a", containers=(job,))))
    (tmp_path / ".hvdocker").write_text("a file where the folder has to be")
    # No links: a step that reached a host would fail with a KeyError.
    session = Session({}, {})
    with pytest.raises(UsageProblem, match="cannot be written"):
        fetch_and_remove(down.env, down.located, session, down.plan(), HeldLocks.__new__(HeldLocks))


class UnstoppableLink(LocalLink):
    """A link to a host whose engine does not end containers."""

    def engine(self) -> Any:  # Any: stands in for an APIClient
        def stop(*_: object, **__: object) -> None:
            raise APIError("tried to kill container, but did not receive an exit event")

        return SimpleNamespace(stop=stop)


@pytest.mark.parametrize("discard_outputs", [False, True])
def test_a_job_that_cannot_be_ended_is_not_called_an_output_that_cannot_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discard_outputs: bool
) -> None:
    job = master("train-abcd", "{}")
    down = Down(monkeypatch, tmp_path, "hosts: [a]", state_of(host_seen("a", containers=(job,))))
    held: Any = SimpleNamespace(raise_if_lost=lambda: None)  # Any: stands in for HeldLocks
    session = Session({"a": UnstoppableLink("a")}, {})
    with pytest.raises(HvdockerError) as caught:
        fetch_and_remove(down.env, down.located, session, down.plan(discard_outputs=discard_outputs), held)
    error = caught.value
    assert error.host == "a" and error.what == (
        "nothing was removed, because a running job could not be ended: "
        "the Docker engine refused: stop train-abcd, which is running"
    )
    assert error.fix and error.fix.endswith("; run hvdocker down again")
