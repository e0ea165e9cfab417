"""Hashes that are remembered: right, bounded, and never in the way."""

import os
from pathlib import Path

import pytest

from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.walk import read_tree


@pytest.fixture
def cache(tmp_path: Path) -> HashCache:
    return HashCache(tmp_path / "cache")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def settled(cache: HashCache, project: Path, **contents: str) -> None:
    """Remembered, as if the files had been left alone for long."""
    for name, content in contents.items():
        (project / name).write_text(content)
    known = {}
    for name, entry in read_tree(project).entries.items():
        seen = (project / name).stat()
        known[name] = ((seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino), entry.sha256)
    cache.save(project, known, seen_ns=(project / name).stat().st_ctime_ns + 10**10)


def poisoned(cache: HashCache, project: Path) -> None:
    """A reader of the cache can be told from a reader of the file."""
    path = cache.file(project)
    hashes = {entry.sha256 for entry in read_tree(project).entries.values()}
    text = path.read_text()
    for sha256 in hashes:
        text = text.replace(sha256, "f" * 64)
    path.write_text(text)


def test_a_file_that_looks_the_same_is_not_read_again(cache: HashCache, project: Path) -> None:
    settled(cache, project, a="1")
    poisoned(cache, project)
    assert read_tree(project, cache).entries["a"].sha256 == "f" * 64


def test_with_checksum_every_file_is_read(cache: HashCache, project: Path) -> None:
    settled(cache, project, a="1")
    poisoned(cache, project)
    assert read_tree(project, cache, checksum=True) == read_tree(project)


def test_a_change_with_equal_size_and_time_is_seen(cache: HashCache, project: Path) -> None:
    settled(cache, project, a="1", b="2")
    before = (project / "a").stat()
    (project / "a").write_text("3")
    os.utime(project / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    poisoned(cache, project)
    entries = read_tree(project, cache).entries
    assert entries["a"].sha256 == read_tree(project).entries["a"].sha256
    assert entries["b"].sha256 == "f" * 64


def test_a_file_that_changed_a_moment_ago_is_not_remembered(cache: HashCache, project: Path) -> None:
    """It may change again within one tick of the clock, and look the same."""
    (project / "a").write_text("1")
    read_tree(project, cache)
    assert cache.load(project) == {}


def test_folders_do_not_mix(cache: HashCache, project: Path, tmp_path: Path) -> None:
    settled(cache, project, a="1")
    assert cache.load(tmp_path / "other") == {}
    assert set(cache.load(project)) == {"a"}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": [[1], "x"]}', b"\xff\xfe"])
def test_a_damaged_cache_is_no_cache(cache: HashCache, project: Path, damage: bytes) -> None:
    settled(cache, project, a="1")
    cache.file(project).write_bytes(damage)
    assert read_tree(project, cache) == read_tree(project)


def test_a_cache_that_cannot_be_written_is_done_without(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (project / "a").write_text("1")
    assert read_tree(project, HashCache(tmp_path / "file")) == read_tree(project)


def test_only_so_many_folders_are_remembered(cache: HashCache, tmp_path: Path) -> None:
    for number in range(70):
        cache.save(tmp_path / str(number), {}, 0)
    assert len(list(cache.folder.iterdir())) == 64


def test_a_name_that_is_no_text_is_remembered(cache: HashCache, project: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    settled(cache, project, **{name: "1"})
    assert set(cache.load(project)) == {name}


@pytest.mark.parametrize(("set_to", "expected"), [("/x/cache", "/x/cache"), ("", "/x/home/.cache")])
def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, set_to: str, expected: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", set_to)
    monkeypatch.setenv("HOME", "/x/home")
    assert HashCache.of_user().folder == Path(expected) / "hvdocker" / "sync"
