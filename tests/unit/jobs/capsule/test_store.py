"""Capsules at home and on hosts: which counts, and who may be believed."""

import json
import tarfile
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import CapsuleFiles
from hvdocker.jobs.capsule.store import (
    StoredCapsule,
    fetch_capsule_files,
    find_capsule_on_hosts,
    find_capsules,
    store_capsule,
)
from hvdocker.shell.command import Command
from hvdocker.transport.session import Session
from tests.unit.builders import CAPSULE, host_seen, inventory, state_of
from tests.unit.fakes import FakeLink

LAB = inventory("hosts: [a, b]\n")
JOB = CAPSULE.job
RECORD = '{"state": "succeeded"}'


def located(folder: Path) -> Located:
    return Located(LAB, folder / "inventory.yaml")


def packed(files: dict[str, str]) -> bytes:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, BytesIO(text.encode()))
    return buffer.getvalue()


@dataclass
class Hosts:
    """Two hosts that have the job's folder, with these files in it."""

    files_by_host: dict[str, dict[str, str]]
    links: dict[str, FakeLink] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.links = {name: FakeLink(name, streamed=packed(files)) for name, files in self.files_by_host.items()}
        self.state = state_of(*(host_seen(n, job_folders=(JOB,), cluster_dir=f"/h/{n}") for n in self.files_by_host))
        self.session = Session(self.links, {})


@pytest.fixture
def hosts() -> Hosts:
    head = {
        "capsule.json": CAPSULE.text(),
        "job.json": "{}",
        "code.patch": "patch",
        "logs/record.json": RECORD,
    }
    return Hosts({"a": head, "b": {"capsule.json": CAPSULE.text()}})


def test_what_this_machine_kept_is_found_again(tmp_path: Path) -> None:
    home = located(tmp_path)
    store_capsule(Env(cwd=tmp_path), home, CapsuleFiles(CAPSULE, b"patch"))
    folder = home.jobs / JOB
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "capsule.json": 0o600,
        "code.patch": 0o600,
    }
    assert find_capsules(Env(cwd=tmp_path), home, (JOB,)) == [StoredCapsule(CAPSULE, b"patch")]
    assert find_capsules(Env(cwd=tmp_path), home, ("train",)) == [StoredCapsule(CAPSULE, b"patch")]
    (folder / "logs").mkdir()
    (folder / "logs" / "record.json").write_text(RECORD)
    assert find_capsules(Env(cwd=tmp_path), home, (JOB,), needs_record=True) == [
        StoredCapsule(CAPSULE, b"patch", RECORD)
    ]


def test_a_home_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker").write_text("a file")
    events: list[Event] = []
    store_capsule(Env(cwd=tmp_path, listener=events.append), located(tmp_path), CapsuleFiles(CAPSULE))
    assert [event.text for event in events] == ["the job's capsule is not kept here: Not a directory"]


def test_what_hosts_tell_comes_home_and_is_known_as_theirs(tmp_path: Path, hosts: Hosts) -> None:
    home = located(tmp_path)
    assert fetch_capsule_files(home, hosts.session, hosts.state, JOB, home.jobs / JOB) == []
    names = sorted(path.name for path in (home.jobs / JOB).iterdir())
    assert names == ["capsule.host", "capsule.json", "code.patch", "job.json"]
    assert find_capsules(Env(cwd=tmp_path), home, (JOB,)) == [StoredCapsule(CAPSULE, b"patch", host="a")]


def test_a_host_does_not_replace_what_this_machine_wrote(tmp_path: Path, hosts: Hosts) -> None:
    home, own = located(tmp_path), replace(CAPSULE, owner="me")
    store_capsule(Env(cwd=tmp_path), home, CapsuleFiles(own))
    fetch_capsule_files(home, hosts.session, hosts.state, JOB, tmp_path / "elsewhere")
    assert find_capsules(Env(cwd=tmp_path), home, (JOB,), needs_record=True) == [StoredCapsule(own, b"", RECORD)]


def test_damaged_job_files_are_reported_and_do_no_other_harm(tmp_path: Path, hosts: Hosts) -> None:
    hosts.links["b"].streamed = b"\x1f\x8b nonsense" * 100
    home = located(tmp_path)
    (told,) = fetch_capsule_files(home, hosts.session, hosts.state, JOB, home.jobs / JOB)
    assert told.startswith("b: capsule.json: the job's files arrived damaged")


def test_only_files_of_these_names_are_taken(tmp_path: Path, hosts: Hosts) -> None:
    hosts.links["a"].streamed = packed({"../evil": "x", "capsule.host": "x", "capsule.json": CAPSULE.text()})
    home = located(tmp_path)
    fetch_capsule_files(home, hosts.session, hosts.state, JOB, home.jobs / JOB)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "capsule.host",
        "capsule.json",
    ]
    assert (home.jobs / JOB / "capsule.host").read_text() == "a\n"


def test_on_hosts_the_first_that_knows_counts(hosts: Hosts) -> None:
    found = find_capsule_on_hosts(hosts.session, hosts.state, "train", None)
    assert found == StoredCapsule(CAPSULE, b"patch", RECORD, "a")
    hosts.links["a"].streamed = packed({"capsule.json": "{"})
    assert find_capsule_on_hosts(hosts.session, hosts.state, JOB, None) == StoredCapsule(CAPSULE, host="b")


def test_what_is_known_at_home_is_only_completed(hosts: Hosts) -> None:
    own = StoredCapsule(replace(CAPSULE, owner="me"))
    assert find_capsule_on_hosts(hosts.session, hosts.state, JOB, own) == replace(own, record=RECORD)


def test_a_record_of_a_job_that_ran_is_made_good(hosts: Hosts) -> None:
    own = StoredCapsule(CAPSULE, b"patch", '{"state": "running"}')
    assert find_capsule_on_hosts(hosts.session, hosts.state, JOB, own) == replace(own, record=RECORD)


def test_a_job_without_a_capsule_is_named(hosts: Hosts) -> None:
    for link in hosts.links.values():
        link.streamed = packed({"job.json": json.dumps({})})
    with pytest.raises(UsageProblem, match=f"{JOB} has no capsule: neither here nor on a, b"):
        find_capsule_on_hosts(hosts.session, hosts.state, JOB, None)
    with pytest.raises(UsageProblem, match="there is no job 'nope'"):
        find_capsule_on_hosts(hosts.session, hosts.state, "nope", None)


def test_the_words_that_ask_for_job_files(hosts: Hosts) -> None:
    find_capsule_on_hosts(hosts.session, hosts.state, JOB, None)
    ((asked, _),) = hosts.links["b"].ran
    assert isinstance(asked, Command)
    names = ("capsule.json", "job.json", "code.patch", "logs/record.json")
    assert asked.argv[-5:] == (f"/h/b/jobs/{JOB}", *names)
