"""A job's files come home more than once, from hosts that come and go, into folders that may be in use."""

import json
import os
from pathlib import Path

import pytest

from hvdocker.errors import ExitCode, UsageProblem
from hvdocker.jobs.results.merge import MANIFEST
from tests.unit.jobs.results.two_hosts import JOB, TwoHosts


@pytest.fixture
def lab(tmp_path: Path) -> TwoHosts:
    return TwoHosts(tmp_path)


def test_a_host_that_was_away_adds_its_files_and_replaces_none(lab: TwoHosts) -> None:
    for host in "ab":
        lab.write(host, "out/equal", "same")
        lab.write(host, "out/differs", f"from {host}")
        lab.write(host, f"logs/{host}.log", host)
    first = lab.fetch("a")
    second = lab.fetch("b")
    assert lab.texts() == {
        "out/equal": "same",
        "out/differs": "from a",
        "out/differs.b": "from b",
        "logs/a.log": "a",
        "logs/b.log": "b",
    }
    assert (first.hosts, second.hosts) == (("a",), ("b",))
    assert (first.clashes, second.clashes) == ([], ["out/differs"])


def test_both_hosts_back_lose_nothing_either(lab: TwoHosts) -> None:
    for host in "ab":
        lab.write(host, "out/differs", f"from {host}")
    for hosts in ("a", "b", "ab", "b", "a"):
        lab.fetch(hosts)
    assert {"from a", "from b"} == set(lab.texts().values())


def test_fetching_a_running_job_again_renews_its_own_files(lab: TwoHosts) -> None:
    for host in "ab":
        lab.write(host, "out/differs", f"old {host}")
    lab.write("a", "out/only", "old")
    lab.fetch()
    for host in "ab":
        lab.write(host, "out/differs", f"new {host}")
    lab.write("a", "out/only", "new")
    lab.fetch()
    assert lab.texts() == {"out/differs.a": "new a", "out/differs.b": "new b", "out/only": "new"}


def test_a_strangers_file_of_the_same_name_is_not_overwritten(lab: TwoHosts) -> None:
    lab.write("a", "out/first", "fetched")
    lab.write("a", "out/model.h5", "fetched")
    (lab.local_folder / "out").mkdir(parents=True)
    (lab.local_folder / "out" / "model.h5").write_text("a year of work")
    with pytest.raises(UsageProblem) as caught:
        lab.fetch("a")
    assert caught.value.what == f"{lab.local_folder} already has files of these names that are not from {JOB}"
    assert (caught.value.lines, caught.value.exit_code) == (("out/model.h5",), ExitCode.USAGE)
    assert lab.texts() == {"out/model.h5": "a year of work"}
    assert [path.name for path in lab.local_folder.iterdir()] == ["out"]


def test_another_jobs_outputs_are_a_strangers_too(lab: TwoHosts) -> None:
    lab.write("a", "out/model.h5", "one")
    lab.fetch("a")
    lab.write("a", "out/model.h5", "two")
    with pytest.raises(UsageProblem, match="not from eval-eeee"):
        lab.fetch("a", "eval-eeee")
    assert lab.texts() == {"out/model.h5": "one"}


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "null",
        '{"job": "train-abcd"}',
        '{"job": 1, "files": 2}',
        '{"job": "train-abcd", "files": {"model.h5": ["a"]}}',
    ],
)
def test_a_damaged_list_of_what_was_fetched_refuses_rather_than_overwrites(lab: TwoHosts, damage: str) -> None:
    lab.write("a", "out/model.h5", "one")
    lab.fetch("a")
    (lab.local_folder / MANIFEST).write_text(damage)
    with pytest.raises(UsageProblem):
        lab.fetch("a")
    assert lab.texts() == {"out/model.h5": "one"}


def test_a_real_file_is_not_taken_for_another_hosts_version(lab: TwoHosts) -> None:
    """`m` differs, so b's becomes m.b; but a rank wrote a file that is called m.b."""
    for host in "ab":
        lab.write(host, "out/m", f"from {host}")
    lab.write("a", "out/m.b", "real")
    lab.fetch()
    assert lab.texts() == {"out/m.a": "from a", "out/m.b": "real", "out/m.b_": "from b"}


def test_a_real_file_fetched_before_is_not_taken_for_another_hosts_version(lab: TwoHosts) -> None:
    for host in "ab":
        lab.write(host, "out/m", f"from {host}")
    lab.write("a", "out/m.b", "real")
    lab.fetch("a")
    lab.fetch("b")
    assert lab.texts() == {"out/m": "from a", "out/m.b": "real", "out/m.b_": "from b"}
    lab.write("b", "out/m", "newer")
    lab.fetch("b")
    assert lab.texts() == {"out/m": "from a", "out/m.b": "real", "out/m.b_": "newer"}


@pytest.mark.parametrize(("first", "then"), ["ab", "ba"])
def test_a_file_now_and_a_folder_before_or_after_lose_nothing(lab: TwoHosts, first: str, then: str) -> None:
    lab.write("a", "out/aaa", "before it")
    lab.write("a", "out/result", "a file")
    lab.write("b", "out/bbb", "before it")
    lab.write("b", "out/result/part", "in a folder")
    lab.fetch(first)
    before = lab.texts()
    try:
        lab.fetch(then)
    except UsageProblem:
        assert lab.texts() == before
    else:
        assert {"a file", "in a folder"} < set(lab.texts().values())
        assert lab.texts().items() >= before.items()
    assert set(json.loads((lab.local_folder / MANIFEST).read_text())["files"]) == set(lab.names())


def test_nothing_is_written_through_a_link_that_an_earlier_fetch_brought(lab: TwoHosts) -> None:
    lab.write("a", "out/kept", "kept")
    (lab.root / "a" / "out" / "up").symlink_to("..")
    lab.fetch("a")
    lab.write("b", "out/up/fetched.json", "evil")
    with pytest.raises(UsageProblem):
        lab.fetch("b")
    assert lab.texts() == {"out/kept": "kept", "out/up": "-> .."}


def test_an_early_copy_does_not_keep_the_plain_name_when_hosts_differ_later(lab: TwoHosts) -> None:
    lab.write("a", "out/log.txt", "early")
    lab.fetch()
    for host in "ab":
        lab.write(host, "out/log.txt", f"end of {host}")
    lab.fetch()
    assert lab.texts() == {"out/log.txt.a": "end of a", "out/log.txt.b": "end of b"}


def test_copies_with_a_host_go_when_the_hosts_agree_later(lab: TwoHosts) -> None:
    for host in "ab":
        lab.write(host, "out/log.txt", f"early {host}")
    lab.write("a", "out/notes.a", "a name that only looks like ours")
    lab.fetch()
    for host in "ab":
        lab.write(host, "out/log.txt", "the end")
    lab.fetch()
    assert lab.texts() == {"out/log.txt": "the end", "out/notes.a": "a name that only looks like ours"}


def test_what_a_job_removed_meanwhile_stays_at_home(lab: TwoHosts) -> None:
    gone = lab.write("a", "out/step-1", "1")
    lab.write("a", "out/step-2", "2")
    lab.fetch()
    gone.unlink()
    lab.fetch()
    assert lab.texts() == {"out/step-1": "1", "out/step-2": "2"}


def test_a_clash_of_names_that_are_as_long_as_they_can_be(lab: TwoHosts) -> None:
    long = ["n" * 255, "n" * 254 + "m", "한" * 85]
    for host in "ab":
        for name in long:
            lab.write(host, f"out/{name}", f"{name[-1]} of {host}")
        lab.write(host, "out/zzz", "last")
    report = lab.fetch()
    assert sorted(report.clashes) == sorted(f"out/{name}" for name in long)
    assert sorted(lab.texts().values()) == ["last", *sorted(f"{name[-1]} of {host}" for host in "ab" for name in long)]
    lab.fetch()
    assert len(lab.names()) == 7


class FailingReplace:
    """Moves one file and then fails, as on a disk that becomes full."""

    def __init__(self) -> None:
        self.moved = 0

    def __call__(self, path: Path, target: Path) -> Path:
        if path.name != f"{MANIFEST}.part":
            self.moved += 1
            if self.moved > 1:
                raise OSError(28, "No space left on device")
        os.replace(path, target)  # noqa: PTH105  # the method is patched
        return target


def test_a_fetch_that_was_interrupted_is_completed_by_the_next(lab: TwoHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("out/first", "out/second"):
        lab.write("a", name, "fetched")
    failing = FailingReplace()
    monkeypatch.setattr(Path, "replace", lambda path, target: failing(path, target))
    with pytest.raises(OSError, match="No space left"):
        lab.fetch("a")
    monkeypatch.undo()
    lab.fetch("a")
    assert lab.texts() == {"out/first": "fetched", "out/second": "fetched"}
