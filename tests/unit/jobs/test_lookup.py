"""Which job is meant."""

from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, HvdockerError, UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.job_container import newest_masters
from hvdocker.jobs.lookup import FoundJob, JobsSeen, find_job
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import host_seen, inventory, master, state_of
from tests.unit.fakes import FakeLink

STATE = state_of(
    host_seen("a", job_folders=("old-aaaa", "train-bbbb"), containers=(master("train-bbbb", "{}", created=1),)),
    host_seen("b", job_folders=("gone-cccc",), containers=(master("new-dddd", "{}", "exited", "b", created=2),)),
)


@pytest.fixture
def here(tmp_path: Path) -> Located:
    located = Located(inventory("hosts: [a, b]"), tmp_path / "inventory.yaml")
    for job in ("home-eeee", "train-ffff"):
        (located.jobs / job / "logs").mkdir(parents=True)
    return located


def found(here: Located, wanted: str | None, away: bool = False, **how: bool) -> FoundJob:
    errors: dict[str, HvdockerError] = {"c": HostUnreachable("refused", host="c")} if away else {}
    links = {name: FakeLink(name) for name in ("a", "b")}
    return find_job(Env(cwd=here.folder), here, JobsSeen(STATE, links, errors, errors), wanted, **how)


@pytest.mark.parametrize(
    ("wanted", "job"),
    [
        (None, "new-dddd"),
        ("new", "new-dddd"),
        ("train", "train-bbbb"),
        ("train-f", "train-ffff"),
        ("train-ffff", "train-ffff"),
        ("gone", "gone-cccc"),
        ("home-eeee", "home-eeee"),
    ],
)
def test_what_has_a_container_comes_before_what_has_files_and_what_is_at_home(
    here: Located, wanted: str | None, job: str
) -> None:
    seen = found(here, wanted)
    assert (seen.job, seen.master is not None) == (job, job in ("new-dddd", "train-bbbb"))


def test_who_wants_to_watch_means_one_that_runs(here: Located) -> None:
    assert found(here, None, prefers_running=True).job == "train-bbbb"
    assert found(here, "new", prefers_running=True).job == "new-dddd"


def test_a_job_that_may_be_on_a_host_that_is_away_is_no_other_one(here: Located) -> None:
    for wanted in (None, "nosuch"):
        with pytest.raises(HostUnreachable, match="refused"):
            found(here, wanted, away=True)
    assert found(here, "train", away=True).job == "train-bbbb"
    assert found(here, "home", away=True).job == "home-eeee"


def test_which_jobs_could_be_named_is_said(here: Located) -> None:
    said: list[Event] = []
    observed = JobsSeen(STATE, {}, {"c": HostUnreachable("refused", host="c")})
    with pytest.raises(HostUnreachable):
        find_job(Env(cwd=here.folder, listener=said.append), here, observed, None)
    names = "new-dddd, train-bbbb, old-aaaa, gone-cccc, home-eeee, …"
    assert said == [Event("note", f"which job is the newest cannot be told now; name one of these: {names}")]


def test_no_such_job(here: Located) -> None:
    with pytest.raises(UsageProblem, match="there is no job 'nosuch'"):
        found(here, "nosuch")


def test_a_job_whose_name_is_a_path_is_no_job(here: Located) -> None:
    evil = state_of(host_seen("a", job_folders=("../x",), containers=(master("../../evil", "{}"),)))
    with pytest.raises(UsageProblem, match="there is no job"):
        find_job(Env(cwd=here.folder), here, JobsSeen(evil, {}), "../")


def test_of_a_job_that_was_placed_again_the_newest_container_counts() -> None:
    first = replace(master("train-bbbb", '{"a":1}', "exited", "a", created=1), id="first")
    newer = replace(master("train-bbbb", '{"b":1}', "running", "b", created=9), id="newer")
    state = state_of(host_seen("a", containers=(first,)), host_seen("b", containers=(newer,)))
    assert newest_masters(state) == {"train-bbbb": newer}


def test_hosts_tell_where_a_job_was_whose_container_is_away(here: Located) -> None:
    told = b'{"hosts": [{"name": "c", "slots": 1}, {"name": "b", "slots": 2}]}'
    link = FakeLink("b", lambda command, stdin: (0, told, b""))
    observed = JobsSeen(STATE, {"b": link}, {"c": HostUnreachable("refused", host="c")})
    seen = find_job(Env(cwd=here.folder), here, observed, "gone")
    assert seen.placement == Placement((Share("c", 1), Share("b", 2)))
    assert [command.argv for command, _ in link.ran] == [("cat", "None/jobs/gone-cccc/job.json")]
