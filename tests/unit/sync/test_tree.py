"""What has to travel, from what is here and what a host says it holds."""

import json
from pathlib import Path

import pytest

from hvdocker.sync.tree import (
    Changes,
    Entry,
    HostIndex,
    Tree,
    compute_changes,
    parent_folders,
    parse_host_index,
)


def tree(*entries: Entry) -> Tree:
    return Tree(Path("/project"), {entry.path: entry for entry in entries})


def file(path: str, content: str = "1", mode: int = 0o644, mtime_ns: int = 0) -> Entry:
    return Entry(path, sha256=content, mode=mode, size=1, mtime_ns=mtime_ns)


def look(path: str, changed: str = "noon") -> bytes:
    return f"//81a4/1/noon/{changed}/./{path}\n".encode("utf-8", "surrogateescape")


def answer(held: Tree, then: bytes, now: bytes, pending: bytes = b"") -> bytes:
    return b"id digest\n" + held.index() + then + b"\0" + pending + b"\0" + now + b"\0"


def held(*entries: Entry, touched: str = "") -> HostIndex:
    then = b"".join(look(entry.path) for entry in entries)
    now = b"".join(look(entry.path, "later" if entry.path == touched else "noon") for entry in entries)
    return parse_host_index(answer(tree(*entries), then, now))


def test_a_host_that_holds_nothing_lacks_everything() -> None:
    assert compute_changes(tree(file("b"), file("a")), parse_host_index(b"")) == Changes(("a", "b"))


def test_a_host_that_holds_it_all_lacks_nothing() -> None:
    assert compute_changes(tree(file("a"), file("b")), held(file("a"), file("b"))).is_empty
    assert compute_changes(tree(file("a")), HostIndex(is_same=True)).is_empty


@pytest.mark.parametrize(
    "now",
    [file("a", "2"), file("a", mode=0o755), Entry("a", target="b"), Entry("a", sha256="1", size=2)],
    ids=["content", "mode", "kind", "size"],
)
def test_what_differs_travels(now: Entry) -> None:
    assert compute_changes(tree(now), held(file("a"))) == Changes(("a",))


def test_a_time_alone_is_no_change() -> None:
    assert compute_changes(tree(file("a", mtime_ns=5)), held(file("a"))).is_empty
    assert tree(file("a", mtime_ns=5)).id() == tree(file("a")).id()


def test_what_was_touched_or_lost_there_travels_again() -> None:
    assert compute_changes(tree(file("a"), file("b")), held(file("a"), file("b"), touched="b")) == Changes(("b",))
    lost = parse_host_index(answer(tree(file("a")), look("a"), b""))
    assert compute_changes(tree(file("a")), lost) == Changes(("a",))


def test_what_is_not_here_any_more_is_dropped() -> None:
    assert compute_changes(tree(file("a")), held(file("a"), file("pkg/b"))) == Changes((), ("pkg/b",))


def test_what_an_unfinished_sync_put_there_is_dropped_too() -> None:
    pending = tree(file("a"), file("new")).index()
    found = parse_host_index(answer(tree(file("a")), look("a"), look("a"), pending))
    assert compute_changes(tree(file("a")), found) == Changes((), ("new",), finishes=True)
    assert not Changes(finishes=True).is_empty


@pytest.mark.parametrize("name", ["new\nline", "caf\udce9", "a b", "-rf", "한국어", "x\n81a4/1/y"])
def test_odd_names_are_told_apart(name: str) -> None:
    assert compute_changes(tree(file(name), file("z")), held(file(name), file("z"))).is_empty
    assert compute_changes(tree(file(name), file("z")), held(file(name), file("z"), touched=name)).send == (name,)


@pytest.mark.parametrize("damage", [b"", b"\0", b"x\0y\0z", b"id digest\n{\0\0", b"id digest\n[[1]]\n\0\0"])
def test_a_damaged_answer_only_costs_a_transfer(damage: bytes) -> None:
    assert compute_changes(tree(file("a")), parse_host_index(damage)) == Changes(("a",))


def test_room_is_made_first_only_where_kinds_change() -> None:
    assert Changes(("thing/inside",), ("thing",)).drops_first
    assert Changes(("thing",), ("thing/deep/inside",)).drops_first
    assert not Changes(("things",), ("thing/inside",)).drops_first


def test_folders_from_above_and_emptied_ones_from_below() -> None:
    change = Changes(("a/b/new",), ("a/c/d/old", "top"))
    code = tree(file("a/b/new"))
    assert change.folders(code) == [".", "a", "a/b", "a/c", "a/c/d"]
    assert change.emptied(code) == ["a/c/d", "a/c"]
    assert parent_folders(["x", "a/b/c"]) == {"a", "a/b"}


def test_what_the_owner_may_everybody_may_where_users_differ() -> None:
    modes = {mode: file("a", mode=mode).mode_for(is_shared=True) for mode in (0o600, 0o700, 0o400, 0o640)}
    assert modes == {0o600: 0o644, 0o700: 0o755, 0o400: 0o444, 0o640: 0o644}
    assert file("a", mode=0o600).mode_for(is_shared=False) == 0o600
    assert tree(file("a")).id(True) != tree(file("a")).id(False)


def test_the_index_is_one_line_of_path_mode_size_time_hash_and_target() -> None:
    rows = tree(file("a", mtime_ns=7), Entry("l", target="a")).index()
    assert rows.endswith(b"\n") and rows.count(b"\n") == 1
    assert json.loads(rows) == [["a", 0o644, 1, 7, "1", ""], ["l", 0o777, 0, 0, "", "a"]]
