"""Whether a hook can be taken for the person's own."""

import grp
import os
import pwd
from pathlib import Path

import pytest

from hvdocker.hooks.run_hook import TrustProblem, is_private_group, trust_problem


@pytest.mark.parametrize("mode", [0o775, 0o770, 0o720])
def test_a_group_that_others_are_in_may_not_write(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "pre up"
    path.touch()
    path.chmod(mode)
    what = f"everybody in its group may write to it (gid {path.stat().st_gid})"
    assert trust_problem(path, lambda uid, gid: False) == TrustProblem(what, f"chmod g-w '{path}'")
    assert trust_problem(path, lambda uid, gid: True) is None


def test_what_everybody_may_write_is_refused_whosever_the_group_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    expected = TrustProblem("everybody may write to it", f"chmod go-w {tmp_path}")
    assert trust_problem(tmp_path, lambda uid, gid: True) == expected


def test_nobody_is_asked_about_a_group_that_may_not_write(tmp_path: Path) -> None:
    def never(uid: int, gid: int) -> bool:
        raise AssertionError("the group has no say here")

    tmp_path.chmod(0o755)
    assert trust_problem(tmp_path, never) is None


def test_a_group_is_a_persons_own_by_its_name() -> None:
    """As this machine's own lists tell: root has such a group everywhere."""
    assert is_private_group(0, pwd.getpwuid(0).pw_gid) == (set(grp.getgrgid(0).gr_mem) <= {"root"})
    others = [group.gr_gid for group in grp.getgrall() if group.gr_name != "root"]
    assert not any(is_private_group(0, gid) for gid in others)


def test_a_group_or_an_owner_without_a_name_is_nobodys() -> None:
    unused = max(group.gr_gid for group in grp.getgrall() if group.gr_gid < 2**31) + 1
    assert not is_private_group(os.getuid(), unused)
    assert not is_private_group(unused, 0)
