"""The files of a job's master, on an engine that keeps what it is given."""

import io
import tarfile
from dataclasses import dataclass, field
from typing import Any

import pytest

from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.errors import HvdockerError
from hvdocker.plan.apply import Context, apply
from hvdocker.plan.plan import plan_of
from hvdocker.training.steps import CreateMaster
from tests.unit.builders import inventory
from tests.unit.fakes import FakeEngine, FakeLink

SSH = {f"/run/hvdocker/ssh/{name}": b"x\n" for name in ("config", "known_hosts", "id_ed25519")}
ROOT = "root:x:0:0::/root:/bin/sh\n"


@dataclass
class Engine(FakeEngine):
    """Has the files of the worker, and counts how often they are read."""

    read: list[str] = field(default_factory=list)

    def create_container_from_config(self, body: Any, name: str) -> dict[str, str]:
        return {"Id": "made"}

    def get_archive(self, container: str, path: str) -> Any:
        assert container == "hvdocker-lab-worker"
        self.read.append(path)
        inside = {name: data for name, data in self.files.items() if name == path or name.startswith(f"{path}/")}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, data in inside.items():
                entry = tarfile.TarInfo(name.removeprefix(path.rpartition("/")[0] + "/"))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        return [buffer.getvalue()], {}


@dataclass
class Link(FakeLink):
    own: Engine = field(default_factory=Engine)

    def engine(self) -> Engine:
        return self.own


def create_master(files: dict[str, bytes]) -> Engine:
    engine = Engine(files)
    spec = ContainerSpec("hvdocker-lab-train-ab12", "doc-hvd:cpu", ("master", "train-ab12"), 1000, 1000)
    step = CreateMaster("a", spec, "hvdocker-lab-worker", ("horovodrun",), ("python", "train.py"))
    apply(plan_of("train", "lab", ("containers", [step])), Context(inventory(), {"a": Link("a", own=engine)}))
    return engine


def passwd_of(engine: Engine) -> str:
    [(_, _, data)] = engine.put
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        file = tar.extractfile("etc/passwd")
        assert file
        return file.read().decode()


def test_a_master_gets_passwd_and_ssh_files_by_one_archive_of_the_worker() -> None:
    engine = create_master({**SSH, "/run/hvdocker/ssh/passwd": ROOT.encode(), "/etc/passwd": b"changed since\n"})
    assert engine.read == ["/run/hvdocker/ssh"]
    assert passwd_of(engine).startswith(f"{ROOT}hvd:x:1000:1000:")


def test_a_worker_of_an_earlier_version_has_only_its_own_passwd() -> None:
    engine = create_master({**SSH, "/etc/passwd": ROOT.encode()})
    assert engine.read == ["/run/hvdocker/ssh", "/etc/passwd"]
    assert passwd_of(engine).startswith(f"{ROOT}hvd:x:1000:1000:")


def test_a_worker_without_its_key_is_an_error_with_a_way_out() -> None:
    without = {name: data for name, data in SSH.items() if not name.endswith("id_ed25519")}
    with pytest.raises(HvdockerError, match="lacks ssh/id_ed25519"):
        create_master(without)
