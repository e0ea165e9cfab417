"""What comes home before a cluster is removed, from a folder of this machine as the host."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hvdocker.cluster import bring_home
from hvdocker.cluster.bring_home import HomeFetch
from hvdocker.env import Env
from hvdocker.errors import HvdockerError
from hvdocker.inventory.locate import Located
from hvdocker.transport.local_link import LocalLink
from hvdocker.transport.session import Session
from tests.unit.builders import host_seen, inventory, state_of

JOB = "train-abcd"


class Host:
    """A host with a cluster's folder and perhaps a job in it; `home` fetches from it."""

    def __init__(self, root: Path, jobs: tuple[str, ...] = (JOB,)) -> None:
        self.root, self.folder = root, root / "host"
        self.located = Located(inventory("hosts: [a]"), root / "inventory.yaml")
        for job in jobs:
            self.write(f"jobs/{job}/job.json")
            self.write(f"jobs/{job}/out/result", "1")
        seen = host_seen("a", job_folders=jobs, cluster_dir=str(self.folder))
        self.state = state_of(seen)

    def write(self, name: str, text: str = "{}") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def home(self, now: float = 0) -> HomeFetch:
        session = Session({"a": LocalLink("a")}, {})
        return HomeFetch(Env(cwd=self.root, now=lambda: now), self.located, session, self.state, {})

    def text(self, name: str) -> str:
        return (self.located.state / name).read_text()


def test_what_a_job_saved_beside_its_script_comes_home(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("code/checkpoints/model.h5", "weights")
    home = host.home()
    home.fetch(JOB)
    home.fetch_code_left()
    assert host.text(f"jobs/{JOB}/code/checkpoints/model.h5") == "weights"
    assert home.fetched[JOB].code_files == 1


def test_what_was_saved_after_the_job_was_fetched_comes_home_too(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("code/model.h5", "early")
    host.home().fetch(JOB)
    host.write("code/model.h5", "late")
    later = host.home()
    later.fetch_code_left()
    assert host.text(f"jobs/{JOB}/code/model.h5") == "late"


def test_what_is_home_is_not_fetched_again(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("code/model.h5", "weights")
    host.home().fetch(JOB)
    (host.located.jobs / JOB / "code" / "model.h5").write_text("edited at home")
    again = host.home()
    again.fetch_code_left()
    assert again.fetched == {} and host.text(f"jobs/{JOB}/code/model.h5") == "edited at home"


def test_without_a_job_it_comes_home_as_well(tmp_path: Path) -> None:
    host = Host(tmp_path, jobs=())
    host.write("code/by-hand.txt", "by exec")
    host.home().fetch_code_left()
    assert host.text(f"no-job/{host.located.inventory.cluster}-19700101T000000Z/code/by-hand.txt") == "by exec"


def test_the_next_cluster_of_the_same_name_does_not_overwrite_files_of_no_job(tmp_path: Path) -> None:
    host = Host(tmp_path, jobs=())
    for now, text in enumerate(("first", "second")):
        host.write("code/by-hand.txt", text)
        host.home(now).fetch_code_left()
    cluster = host.located.inventory.cluster
    homes = [f"no-job/{cluster}-19700101T00000{now}Z/code/by-hand.txt" for now in (0, 1)]
    assert [host.text(home) for home in homes] == ["first", "second"]


def test_too_much_is_refused_with_the_command_that_brings_it_and_outputs_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bring_home, "MOST_CODE_BYTES", 5)
    host = Host(tmp_path)
    host.write("code/dataset.bin", "more than five bytes")
    home = host.home()
    home.fetch(JOB)
    assert host.text(f"jobs/{JOB}/out/result") == "1"
    with pytest.raises(HvdockerError, match="are not home") as caught:
        home.fetch_code_left()
    assert caught.value.fix and f"hvdocker fetch {JOB}" in caught.value.fix
    assert not (host.located.jobs / JOB / "code").exists()


def test_too_much_that_belongs_to_no_job_is_refused_with_the_folder_to_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bring_home, "MOST_CODE_BYTES", 5)
    host = Host(tmp_path, jobs=())
    host.write("code/dataset.bin", "more than five bytes")
    with pytest.raises(HvdockerError, match="are not home") as caught:
        host.home().fetch_code_left()
    assert caught.value.fix and f"scp -r a:{host.folder}/code code-a" in caught.value.fix
    assert "hvdocker down --discard" in caught.value.fix


@pytest.mark.parametrize("changes", [2, 3])
def test_a_third_fetch_that_brought_everything_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    """A file changes after each of the first `changes` fetches. After three of them it is still not home."""
    host, fetch, texts = Host(tmp_path), HomeFetch._fetch, iter("x" * number for number in range(2, 2 + changes))
    host.write("code/model.h5", "x")

    def fetch_and_write(home: HomeFetch, *arguments: Any) -> None:
        fetch(home, *arguments)
        if text := next(texts, ""):
            host.write("code/model.h5", text)

    monkeypatch.setattr(HomeFetch, "_fetch", fetch_and_write)
    with nullcontext() if changes < 3 else pytest.raises(HvdockerError, match="change all the time"):
        host.home().fetch_code_left()
    assert host.text(f"jobs/{JOB}/code/model.h5") == "xxx"
