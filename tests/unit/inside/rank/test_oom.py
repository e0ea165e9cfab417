"""Who was killed for want of memory, as control groups of both versions tell it."""

from pathlib import Path

import pytest
from inside.rank.oom import OomCounter
from inside.runtime.child import ChildExit

V1_GROUPS = "9:name=systemd:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n"
V1_MOUNTS = (
    "83 82 0:46 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "84 83 0:29 /docker/abc /sys/fs/cgroup/cpu ro,nosuid - cgroup cgroup rw,cpu\n"
    "87 83 0:32 {root} /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
    "92 83 0:38 /docker/abc /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n"
)
V2_MOUNTS = "30 23 0:26 {root} /sys/fs/cgroup ro,nosuid shared:4 - cgroup2 cgroup rw,nsdelegate\n"
V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
V2 = "low 0\nhigh 0\nmax 12\noom 3\noom_kill {}\noom_group_kill 0\n"
KILLED, FAILED, FINE = ChildExit(137, 9, 0), ChildExit(1, None, 0), ChildExit(0, None, 0)


class Kernel:
    """A /proc and a /sys as a container would see them."""

    def __init__(self, base: Path, groups: str, mounts: str, file: str, text: str) -> None:
        self.base, self.file, self.text = base, base / file, text
        (base / "proc" / "self").mkdir(parents=True)
        (base / "proc" / "self" / "cgroup").write_text(groups)
        (base / "proc" / "self" / "mountinfo").write_text(mounts)
        self.file.parent.mkdir(parents=True)
        self.killed(5)

    def killed(self, times: int) -> None:
        self.file.write_text(self.text.format(times))

    def rank_starts(self) -> OomCounter:
        return OomCounter(self.base, self.base / "proc", self.base)


CASES = {
    "v1, its own part is shown": (
        V1_GROUPS,
        V1_MOUNTS.format(root="/docker/abc"),
        "memory/memory.oom_control",
    ),
    "v1, the whole tree": (V1_GROUPS, V1_MOUNTS.format(root="/"), "memory/docker/abc/memory.oom_control"),
    "v2, a namespace of its own": ("0::/\n", V2_MOUNTS.format(root="/"), "memory.events"),
    "v2, the whole tree": ("0::/docker/abc\n", V2_MOUNTS.format(root="/"), "docker/abc/memory.events"),
    "v2, its own part is shown": ("0::/docker/abc\n", V2_MOUNTS.format(root="/docker/abc"), "memory.events"),
    "v2, names do not fit": ("0::/docker/abc\n", V2_MOUNTS.format(root="/../.."), "memory.events"),
}


@pytest.fixture(params=CASES)
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Kernel:
    groups, mounts, file = CASES[request.param]
    return Kernel(tmp_path, groups, mounts, f"sys/fs/cgroup/{file}", V1 if "oom_control" in file else V2)


def test_a_kill_is_seen(kernel: Kernel) -> None:
    rank = kernel.rank_starts()
    assert not rank.ended(KILLED)
    kernel.killed(6)
    assert rank.ended(KILLED)
    assert not kernel.rank_starts().ended(KILLED)


@pytest.fixture
def plain(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path, "0::/\n", V2_MOUNTS.format(root="/"), "sys/fs/cgroup/memory.events", V2)


def test_a_mount_with_a_name_that_is_not_utf8_hides_no_kill(plain: Kernel) -> None:
    mounts = plain.base / "proc" / "self" / "mountinfo"
    mounts.write_bytes(b"29 23 0:25 / /data/\xff rw - ext4 /dev/sda rw\n" + mounts.read_bytes())
    rank = plain.rank_starts()
    plain.killed(6)
    assert rank.ended(KILLED)


def test_a_parent_that_fails_for_its_killed_child_counts_and_one_that_does_not_fail_does_not(
    plain: Kernel,
) -> None:
    rank, other = plain.rank_starts(), plain.rank_starts()
    plain.killed(6)
    assert not other.ended(FINE)
    assert rank.ended(FAILED)


def test_the_neighbour_that_fails_because_a_rank_was_killed_has_memory_enough(plain: Kernel) -> None:
    killed, neighbour = plain.rank_starts(), plain.rank_starts()
    plain.killed(6)
    assert killed.ended(KILLED)
    assert not neighbour.ended(FAILED)


def test_two_that_are_killed_are_both_named(plain: Kernel) -> None:
    ranks = [plain.rank_starts(), plain.rank_starts()]
    plain.killed(7)
    assert [rank.ended(KILLED) for rank in ranks] == [True, True]


def test_where_nothing_is_counted_nobody_is_accused(tmp_path: Path) -> None:
    assert not OomCounter(tmp_path, tmp_path, tmp_path).ended(KILLED)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text("odd\n4:memory:/x\n")
    (tmp_path / "self" / "mountinfo").write_text("odd\n1 2 - cgroup\n1 2 0:1 /x /y rw - cgroup c rw,memory\n")
    assert not OomCounter(tmp_path, tmp_path, tmp_path).ended(KILLED)
