"""Layers by digest, bounded."""

import errno
import os
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.images.ship.cache import LayerCache, user_layer_cache


def put(cache: LayerCache, digest: str, content: bytes, used: int) -> None:
    with cache.draft() as draft:
        draft.write(content)
        cache.keep(draft, digest)
    os.utime(cache.path(digest), (used, used))


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path / "layers")
    assert cache.size("sha256:a") is None and cache.read("sha256:a") is None
    put(cache, "sha256:a", b"12345", 1)
    assert cache.size("sha256:a") == 5 and cache.read("sha256:a") == b"12345"


def test_a_draft_that_was_not_kept_leaves_nothing(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    with pytest.raises(RuntimeError), cache.draft() as draft:
        draft.write(b"half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_here_is_named_with_its_folder(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path / "layers")
    with (
        pytest.raises(HvdockerError, match=f"the disk of this machine is full.*{tmp_path}/layers") as caught,
        cache.draft(),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.fix and "XDG_CACHE_HOME" in caught.value.fix
    assert list((tmp_path / "layers").iterdir()) == []


def test_the_least_lately_used_go_first(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path, limit_bytes=10)
    for number, name in enumerate("abc", 1):
        put(cache, f"sha256:{name}", b"12345", number)
    cache.trim()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sha256-b", "sha256-c"]


def test_asking_counts_as_use(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path, limit_bytes=5)
    put(cache, "sha256:a", b"12345", 1)
    put(cache, "sha256:b", b"12345", 2)
    cache.size("sha256:a")
    cache.trim()
    assert [path.name for path in tmp_path.iterdir()] == ["sha256-a"]


def test_what_is_being_sent_is_spared(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path, limit_bytes=5)
    put(cache, "sha256:a", b"12345", 1)
    put(cache, "sha256:b", b"12345", 2)
    cache.trim(spare=["sha256:a"])
    assert [path.name for path in tmp_path.iterdir()] == ["sha256-a"]


def test_a_file_that_another_run_takes_away_meanwhile_is_no_error(tmp_path: Path) -> None:
    """A link to nothing is one that is listed, and gone when it is looked at."""
    cache = LayerCache(tmp_path, limit_bytes=5)
    put(cache, "sha256:a", b"12345", 1)
    put(cache, "sha256:b", b"12345", 2)
    cache.path("sha256:gone").symlink_to(tmp_path / "nowhere")
    cache.trim()
    assert cache.size("sha256:a") is None and cache.size("sha256:b") == 5


def test_drafts_of_killed_runs_go(tmp_path: Path) -> None:
    for name, used in (("draft-old", 1), ("draft-new", None)):
        (tmp_path / name).write_bytes(b"half")
        if used:
            os.utime(tmp_path / name, (used, used))
    LayerCache(tmp_path).trim()
    assert [path.name for path in tmp_path.iterdir()] == ["draft-new"]


def test_its_place_and_bound_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HVDOCKER_CACHE", "2GB")
    assert user_layer_cache() == LayerCache(tmp_path / "hvdocker" / "layers", 2 << 30)
    monkeypatch.setenv("HVDOCKER_CACHE", "much")
    with pytest.raises(UsageProblem, match="HVDOCKER_CACHE"):
        user_layer_cache()


def test_a_limit_without_a_unit_is_not_taken_for_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HVDOCKER_CACHE", "20")
    with pytest.raises(UsageProblem, match=r"HVDOCKER_CACHE: 20 bytes\? write 20GB or 20MB"):
        user_layer_cache()
