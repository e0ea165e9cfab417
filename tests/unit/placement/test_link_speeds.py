"""Measured links are kept beside the inventory, as a hint."""

from pathlib import Path

import pytest

from hvdocker.doctor.pairs.save_speeds import save_link_speeds
from hvdocker.doctor.report import PairReport
from hvdocker.inventory.locate import Located
from hvdocker.placement.link_speeds import read_link_speeds
from tests.unit.builders import inventory

LAB = inventory("hosts: [{host: gpu-a, name: a}, b, c]")


def lab(folder: Path, text: str | None = None) -> Located:
    return Located(inventory(text) if text else LAB, folder / "inventory.yaml")


def pair(start: str, end: str, speed: float | None) -> PairReport:
    return PairReport(start, end, (), speed)


def test_what_was_measured_is_read_again_the_slower_way_counts(tmp_path: Path) -> None:
    save_link_speeds(
        lab(tmp_path), [pair("a", "b", 9e9), pair("b", "a", 2e9), pair("a", "c", None), pair("c", "b", 1e9)]
    )
    assert read_link_speeds(lab(tmp_path)) == {frozenset("ab"): 2e9, frozenset("bc"): 1e9}
    assert [file.name for file in (tmp_path / ".hvdocker").iterdir()] == ["links.json"]


def test_a_doctor_that_measured_nothing_writes_nothing(tmp_path: Path) -> None:
    save_link_speeds(lab(tmp_path), [pair("a", "b", None)])
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_measured_this_time_stays(tmp_path: Path) -> None:
    save_link_speeds(lab(tmp_path), [pair("a", "b", 1e9), pair("b", "c", 2e9)])
    save_link_speeds(lab(tmp_path), [pair("a", "b", 5e9)])
    assert read_link_speeds(lab(tmp_path)) == {frozenset("ab"): 5e9, frozenset("bc"): 2e9}


def test_only_hosts_that_are_still_the_same(tmp_path: Path) -> None:
    save_link_speeds(lab(tmp_path), [pair("a", "b", 1e9), pair("b", "c", 2e9), pair("a", "c", 3e9)])
    moved = lab(tmp_path, "hosts: [{host: other-a, name: a}, b, c]")
    assert read_link_speeds(moved) == {frozenset("bc"): 2e9}
    assert read_link_speeds(lab(tmp_path, "hosts: [b]")) == {}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", '{"format": 2, "hosts": {}, "bits_per_s": []}', '{"hosts": {}}',
     '{"format": 1}',
     '{"format": 1, "hosts": [], "bits_per_s": []}', '{"format": 1, "hosts": {"b": "b"}, "bits_per_s": 7}',
     '{"format": 1, "hosts": {"b": "b", "c": "c"}, "bits_per_s": [["b", "c"]]}',
     '{"format": 1, "hosts": {"b": "b", "c": "c"}, "bits_per_s": [["b", "c", "x"]]}',
     '{"format": 1, "hosts": {"b": "b", "c": "c"}, "bits_per_s": [[["b"], "c", 1]]}',
     '{"format": 1, "hosts": {"b": "b", "c": "c"}, "bits_per_s": [["b", "c", -1], ["b", "b", 1]]}',
     "[" * 100_000, "\\udcff"],
)  # fmt: skip
def test_a_damaged_file_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".hvdocker").mkdir()
    (tmp_path / ".hvdocker" / "links.json").write_text(text)
    assert read_link_speeds(lab(tmp_path)) == {}
    save_link_speeds(lab(tmp_path), [pair("a", "b", 1e9)])
    assert read_link_speeds(lab(tmp_path)) == {frozenset("ab"): 1e9}


def test_no_file_and_no_folder(tmp_path: Path) -> None:
    assert read_link_speeds(lab(tmp_path)) == {}


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker").write_text("in the way")
    save_link_speeds(lab(tmp_path), [pair("a", "b", 1e9)])
    assert read_link_speeds(lab(tmp_path)) == {}
