"""A host taken into a job that runs: two folders of this machine stand for the hosts, engines only keep."""

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from docker.errors import NotFound

from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.steps import JoinJob, Trust, UpdateMaster
from hvdocker.errors import HvdockerError
from hvdocker.plan.apply import Context, apply, roll_back
from hvdocker.plan.plan import Step, plan_of
from hvdocker.protocol.job_file import JobHost
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import SyncOptions, sync_all
from hvdocker.sync.walk import read_tree
from hvdocker.transport.local_link import LocalLink
from hvdocker.transport.ssh import key_pairs
from tests.unit.builders import inventory
from tests.unit.engine.test_archive import members
from tests.unit.fakes import FakeEngine

JOB = "train-abcd"
HEADS = {
    "job": JOB, "host": "a", "hosts": [{"name": "a", "address": "10.0.0.11", "slots": 1}],
    "env": {"X": "한\n"}, "secrets": ["TOKEN"], "devices": ["GPU-a"],
}  # fmt: skip


@dataclass
class Engine(FakeEngine):
    """Its containers may have secrets."""

    secrets: dict[str, bytes] = field(default_factory=dict)

    def get_archive(self, container: str, path: str) -> tuple[Iterator[bytes], dict[str, object]]:
        assert (container, path) == ("master", f"/run/hvdocker/secrets/{JOB}")
        if not self.secrets:
            raise NotFound(f"no {path}")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, value in self.secrets.items():
                info = tarfile.TarInfo(f"{JOB}/{name}")
                info.size = len(value)
                tar.addfile(info, io.BytesIO(value))
        return iter([buffer.getvalue()]), {}


class Link(LocalLink):
    """This machine as a host, with an engine of its own."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.own = Engine()

    def engine(self) -> Engine:
        return self.own


class Pair:
    """The head, with a job and code as a sync brought it; and a host with nothing but empty folders."""

    def __init__(self, root: Path) -> None:
        self.a, self.c = root / "a", root / "c"
        self.source = root / "source"
        for folder in (self.a / "jobs" / JOB, self.c / "code", self.c / "jobs", self.source / "pkg"):
            folder.mkdir(parents=True)
        (self.source / "train.py").write_text("print(1)\n")
        (self.source / "pkg" / "it's.py").write_text("")
        (self.a / "jobs" / JOB / "job.json").write_text(json.dumps(HEADS))
        self.links = {"a": Link("a"), "c": Link("c")}
        assert self.sync("a") == 2

    def sync(self, host: str) -> int:
        """SyncOptions many files a sync of the code has to send there."""
        targets = {host: SyncTarget(self.links[host], str(getattr(self, host) / "code"))}
        reports = sync_all(targets, read_tree(self.source), SyncOptions()).or_raise("sync")
        return reports[host].sent

    def step(self, **changes: object) -> JoinJob:
        given = {"devices": ("GPU-c",), "secrets": ("TOKEN",), **changes}
        job_host = JobHost("c", "10.0.0.13", 2)
        return JoinJob("c", JOB, "a", str(self.a), str(self.c), job_host, "master", "worker", 1000, 1001, **given)

    def run(self, *steps: Step) -> Context:
        context = Context(inventory("hosts: [a, c]"), self.links, template="")
        apply(plan_of("up", "lab", *(("join", [step]) for step in steps)), context)
        return context


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_it_gets_the_code_the_files_and_the_secrets_of_the_head(pair: Pair) -> None:
    (pair.a / "jobs" / JOB / "capsule.json").write_text("{}")
    (pair.a / "jobs" / JOB / "out").mkdir()
    (pair.a / "jobs" / JOB / "out" / "model.h5").write_text("the head's own")
    pair.links["a"].own.secrets = {"TOKEN": b"s3cr3t\xff", "not asked for": b""}
    pair.run(pair.step())
    found = {str(path.relative_to(pair.c)) for path in pair.c.rglob("*") if path.is_file()}
    assert found == {
        "code/train.py", "code/pkg/it's.py", "code.sync/index", "code.sync/paths",
        f"jobs/{JOB}/job.json", f"jobs/{JOB}/capsule.json",
    }  # fmt: skip
    assert json.loads((pair.c / "jobs" / JOB / "job.json").read_text()) == {
        **HEADS,
        "host": "c",
        "hosts": [*HEADS["hosts"], {"name": "c", "address": "10.0.0.13", "slots": 2}],
        "devices": ["GPU-c"],
    }
    assert {path.name for path in (pair.c / "jobs" / JOB).iterdir() if path.is_dir()} == {"out", "logs"}
    [(container, folder, data)] = pair.links["c"].own.put
    assert (container, folder) == ("worker", "/run/hvdocker")
    assert b"s3cr3t\xff" in data and f"secrets/{JOB}/TOKEN".encode() in data


def test_the_next_sync_finds_that_it_has_everything(pair: Pair) -> None:
    pair.run(pair.step(secrets=()))
    assert pair.sync("c") == 0
    (pair.source / "train.py").write_text("print(2)\n")
    assert pair.sync("c") == 1


def test_code_of_an_earlier_cluster_goes_and_what_jobs_wrote_there_is_kept(pair: Pair) -> None:
    (pair.source / "old.py").write_text("")
    assert pair.sync("c") == 3
    (pair.source / "old.py").unlink()
    (pair.c / "code" / "weights.h5").write_text("made by a job")
    (pair.c / "code" / "train.py").write_text("changed by a job")
    pair.run(pair.step(secrets=()))
    assert sorted(path.name for path in (pair.c / "code").iterdir()) == ["pkg", "train.py", "weights.h5"]
    [kept] = (pair.c / "jobs" / ".replaced").iterdir()
    assert {path.name: path.read_text() for path in kept.iterdir()} == {"train.py": "changed by a job"}
    assert pair.sync("c") == 0


def test_a_host_that_comes_back_stands_in_the_file_once(pair: Pair) -> None:
    job_hosts = [*HEADS["hosts"], {"name": "c", "address": "10.0.0.13", "slots": 2}]
    (pair.a / "jobs" / JOB / "job.json").write_text(json.dumps({**HEADS, "hosts": job_hosts}))
    pair.run(pair.step(secrets=(), is_new=False, devices=()))
    told = json.loads((pair.c / "jobs" / JOB / "job.json").read_text())
    assert (told["host"], told["hosts"], "devices" in told) == ("c", job_hosts, False)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "nonsense"])
def test_a_damaged_file_of_the_head_is_told_of(pair: Pair, text: str) -> None:
    (pair.a / "jobs" / JOB / "job.json").write_text(text)
    with pytest.raises(HvdockerError, match=r"job\.json is damaged") as caught:
        pair.run(pair.step(secrets=()))
    assert caught.value.host == "a"


def test_when_the_run_fails_the_jobs_folder_goes_again(pair: Pair) -> None:
    context = pair.run(pair.step(secrets=()))
    assert [what for _, what, _ in context.undo] == [f"folder {pair.c}/jobs/{JOB}"]
    assert roll_back(context) == []
    assert not (pair.c / "jobs" / JOB).exists() and (pair.c / "code" / "train.py").exists()


def test_a_folder_that_was_there_stays(pair: Pair) -> None:
    (pair.c / "jobs" / JOB / "out").mkdir(parents=True)
    (pair.c / "jobs" / JOB / "out" / "x").write_text("made before it was lost")
    context = pair.run(pair.step(secrets=()))
    assert context.undo == []
    assert (pair.c / "jobs" / JOB / "out" / "x").exists()


def test_a_job_that_has_just_ended_has_no_secrets_to_give(pair: Pair) -> None:
    pair.run(pair.step())
    [(_, _, data)] = pair.links["c"].own.put
    assert f"secrets/{JOB}/TOKEN".encode() not in data


@pytest.mark.parametrize("is_elastic", [True, False])
def test_a_master_is_told_whom_it_may_log_in_to_and_then_which_hosts_it_has(pair: Pair, is_elastic: bool) -> None:
    job_hosts = (JobHost("a", "10.0.0.11", 1), JobHost("c", "10.0.0.13", 2)) if is_elastic else ()
    trust = Trust("lab", 12345, (ClusterMember("a", "10.0.0.11", "hvd"), ClusterMember("c", "10.0.0.13", "hvd")))
    ring = key_pairs.ClusterKeys(key_pairs.make_pair(), {}, {"a": "ssh-ed25519 A", "c": "ssh-ed25519 C"})
    context = Context(inventory("hosts: [a, c]"), pair.links, template="", trust=trust, keyring=ring)
    apply(plan_of("up", "lab", ("join", [UpdateMaster("a", "master", 1000, 1001, job_hosts)])), context)
    [(container, folder, data)] = pair.links["a"].own.put
    assert (container, folder) == ("master", "/run")
    given = members(data)
    assert given["hvdocker/ssh/known_hosts"][1:] == (
        0o600, 1000, 1001, "[10.0.0.11]:12345 ssh-ed25519 A\n[10.0.0.13]:12345 ssh-ed25519 C\n",
    )  # fmt: skip
    assert list(given)[:2] == ["hvdocker/ssh/config", "hvdocker/ssh/known_hosts"]
    assert [json.loads(given[name][4]) for name in list(given)[2:]] == [
        {"hosts": [{"name": "a", "address": "10.0.0.11", "slots": 1},
                   {"name": "c", "address": "10.0.0.13", "slots": 2}]}
    ][: len(job_hosts)]  # fmt: skip
    assert context.undo == []
