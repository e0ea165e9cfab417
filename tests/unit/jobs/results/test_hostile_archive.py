"""Archives from a host that is no longer ours: nothing is written outside of the job's folder, nor over a
file that is not the job's."""

import io
import os
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hvdocker.engine.archive import read_text, read_texts
from hvdocker.errors import HvdockerError
from hvdocker.jobs.results import unpack as fetch
from hvdocker.jobs.results.fetch_files import fetch_job
from hvdocker.jobs.results.merge import FetchedFiles
from hvdocker.jobs.results.read_host import JobSource
from tests.unit.fakes import FakeLink

JOB = "train-abcd"
Member = tuple[str, bytes, str]
FILE, LINK, HARD, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


def packed(*members: Member, form: int = tarfile.PAX_FORMAT) -> bytes:
    """Members as (name, kind, link target or content)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name, kind, text in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == FILE:
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
            else:
                info.linkname = text
                tar.addfile(info)
    return buffer.getvalue()


class House:
    """A folder at home with things in it that are nobody else's business."""

    def __init__(self, root: Path) -> None:
        self.root, self.jobs = root / "house", root / "house" / "jobs"
        self.job = self.jobs / JOB
        self.job.mkdir(parents=True)
        (self.root / "precious").write_text("precious")
        (self.job / "mine.txt").write_text("mine")

    def fetch(self, archive: bytes) -> FetchedFiles:
        return fetch_job(JOB, [JobSource(FakeLink("evil", streamed=archive), "/job")], self.job)

    def check(self) -> None:
        assert sorted(path.name for path in self.root.iterdir()) == ["jobs", "precious"]
        assert sorted(path.name for path in self.jobs.iterdir()) == [JOB]
        assert {path.name for path in self.job.iterdir()} <= {
            "mine.txt", "out", "logs", ".fetched-files.json"
        }  # fmt: skip
        assert (self.root / "precious").read_text() == "precious"
        assert (self.job / "mine.txt").read_text() == "mine"
        for path in self.job.rglob("*"):
            assert path.is_symlink() or path.is_file() or path.is_dir(), f"{path} is special"
            assert Path(os.path.realpath(path)).is_relative_to(self.job), f"{path} leads out"
            assert path.is_symlink() or path.stat().st_mode & 0o7022 == 0


@pytest.fixture(params=[True, False], ids=["with a filter", "old Python"])
def house(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Pythons without tarfile's own filter rely on ours alone."""
    if not request.param:
        monkeypatch.setattr(fetch, "_FILTER", {"filter": "fully_trusted"} if fetch._FILTER else {})
    house = House(tmp_path)
    yield house
    house.check()


REFUSED = {
    "absolute": ([("/tmp/hvdocker-evil", FILE, "x")], "outside the job's folder"),
    "climbing": ([("out/../../precious", FILE, "x")], "outside the job's folder"),
    "climbing twice": ([("out/a/../../../../precious", FILE, "x")], "outside the job's folder"),
    "another top": ([(".fetched-files.json", FILE, "{}")], "not of the job's outputs, logs or code"),
    "a mark of ours": ([("fetched.json", FILE, "{}")], "not of the job's outputs, logs or code"),
    "the folder itself": ([(".", FOLDER, "")], "not of the job's outputs, logs or code"),
    "through a link": ([("out/l", LINK, "sub"), ("out/l/x", FILE, "x")], "a link lies in its way"),
    "over a link": ([("out/l", LINK, "../mine.txt"), ("out/l", FILE, "x")], "a link lies in its way"),
    "link over a link": ([("out/l", LINK, "a"), ("out/l", LINK, "b")], "a link lies in its way"),
    "folder over a link": ([("out/l", LINK, "a"), ("out/l", FOLDER, "")], "a link lies in its way"),
    "file and folder": ([("out/f", FILE, "x"), ("out/f/g", FILE, "x")], "arrived damaged"),
    "link over a folder": ([("out/d", FOLDER, ""), ("out/d", LINK, "x")], "arrived damaged"),
    "a name without end": ([("out/" + "x" * 300, FILE, "x")], "arrived damaged"),
    "a path without end": ([("out/" + "d/" * 3000 + "x", FILE, "x")], "arrived damaged"),
}  # fmt: skip


@pytest.mark.parametrize(("members", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused_with_nothing_left(house: House, members: list[Member], reason: str) -> None:
    with pytest.raises(HvdockerError, match=reason) as caught:
        house.fetch(packed(("out", FOLDER, ""), *members))
    assert caught.value.host == "evil"
    assert sorted(path.name for path in house.job.iterdir()) == ["mine.txt"]


LEFT_OUT = {
    "absolute link": (("out/x", LINK, "/etc/passwd"), "a link to something outside"),
    "climbing link": (("out/x", LINK, "../../precious"), "a link to something outside"),
    "hard link": (("out/x", HARD, "/etc/passwd"), "a link to something outside"),
    "climbing hard link": (("out/x", HARD, "out/../../precious"), "a link to something outside"),
    "hard link to nothing": (("out/x", HARD, "out/x"), "a link to a file that did not come"),
    "device": (("out/x", tarfile.CHRTYPE, ""), "neither a file"),
    "block device": (("out/x", tarfile.BLKTYPE, ""), "neither a file"),
    "pipe": (("out/x", tarfile.FIFOTYPE, ""), "neither a file"),
    "outputs as a link": (("out", LINK, "logs"), "not a folder"),
    "logs as a file": (("logs", FILE, "x"), "not a folder"),
}


@pytest.mark.parametrize(("member", "reason"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_left_out_and_named(house: House, member: Member, reason: str) -> None:
    report = house.fetch(packed(member, ("out/fine", FILE, "fine")))
    assert len(report.skipped) == 1 and reason in report.skipped[0]
    assert (house.job / "out" / "fine").read_text() == "fine"


def test_a_chain_of_harmless_links_leads_nowhere(house: House) -> None:
    """out/up is the top, up/.. is above it: only together they lead out."""
    house.fetch(packed(("out/up", LINK, ".."), ("out/above", LINK, "up/.."), ("out/x", LINK, "above/../..")))
    targets = {path.name: str(path.readlink()) for path in (house.job / "out").iterdir()}
    assert targets == {"up": "..", "above": ".", "x": ".."}


def test_another_name_for_a_link_does_not_make_it_lead_out(house: House) -> None:
    members = (("out/a/b/l", LINK, "../../../logs"), ("logs/x", FILE, "x"), ("out/h", HARD, "out/a/b/l"))
    assert len(house.fetch(packed(*members)).skipped) == 1


def test_a_file_sent_twice_is_the_last_one(house: House) -> None:
    house.fetch(packed(("out/f", FILE, "first"), ("out/f", FILE, "last")))
    assert (house.job / "out" / "f").read_text() == "last"


def test_odd_names_are_only_names(house: House) -> None:
    odd = ["-rf", "a\nb", "\x1b]0;owned\x07", "$(id)", "`id`", " ", "~", "한국어", "*", "\u202e", "c:\\x"]
    house.fetch(packed(*((f"out/{name}", FILE, name) for name in odd)))
    assert {path.name: path.read_text() for path in (house.job / "out").iterdir()} == {n: n for n in odd}


PARTS = ("out", "logs", "a", "b", "..", ".", "", "precious", "mine.txt", "out/a", "../..")


def path(choice: random.Random, most: int) -> str:
    return "/".join(choice.choices(PARTS, k=choice.randint(1, most)))


def test_any_mixture_of_members(tmp_path: Path) -> None:
    """Names and targets put together at random: whatever happens, it happens inside, or is our error."""
    choice = random.Random(4)
    kinds = [FILE, FILE, LINK, LINK, LINK, HARD, FOLDER, tarfile.FIFOTYPE]
    fetched = 0
    for number in range(150):
        (tmp_path / str(number)).mkdir()
        house = House(tmp_path / str(number))
        members = [
            (f"out/{path(choice, 2)}", choice.choice(kinds), path(choice, 5)) for _ in range(choice.randint(1, 6))
        ]
        try:
            house.fetch(packed(*members))
            fetched += 1
        except HvdockerError:
            pass
        house.check()
    assert 10 < fetched < 140


@pytest.mark.parametrize("cut", [1, 511, 700, 1100, 5000])
def test_an_archive_that_is_cut_off_or_no_archive(house: House, cut: int) -> None:
    for data in (packed(("out/f", FILE, "x" * 3000))[:cut], os.urandom(cut), b"\0" * cut):
        try:
            house.fetch(data)
        except HvdockerError as error:
            assert error.host == "evil"


class LyingEngine:
    """An engine that answers get_archive with whatever it likes."""

    def __init__(self, archive: bytes) -> None:
        self.archive = archive

    def get_archive(self, container: str, path: str) -> tuple[list[bytes], dict[str, str]]:
        return [self.archive], {}


def test_a_containers_files_are_read_and_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evil = packed(
        ("../x", FILE, "x"), ("/tmp/hvdocker-evil", FILE, "x"), ("l", LINK, "/etc/passwd"),
        ("h", HARD, "/etc/passwd"), ("p", tarfile.FIFOTYPE, ""), ("record.json", FILE, "{}"),
    )  # fmt: skip
    engine = LyingEngine(evil)
    assert read_text(engine, "c", "/run/hvdocker/record.json") == "{}"  # type: ignore[arg-type]  # enough of one
    assert read_texts(engine, "c", "/run/hvdocker/ssh").keys() == {
        "../x",
        "/tmp/hvdocker-evil",
        "record.json",
    }  # type: ignore[arg-type]  # as above
    assert list(tmp_path.iterdir()) == []
