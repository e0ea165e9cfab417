"""Finds out whether the kernel killed a process of a rank because memory ran out (an OOM kill). It reads the counter of
OOM kills of the container's control group. All ranks of a container share that counter. So a rank claims a kill as its
own in a shared file. Then a peer that fails as a consequence is not reported as out of memory."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from hvdocker.protocol import paths
from inside.runtime.child import ChildExit
from inside.runtime.processes import PROC

SIGKILL_EXIT_CODE = 128 + 9
COUNTER_NAMES = {"cgroup2": "memory.events", "cgroup": "memory.oom_control"}


class Mount(NamedTuple):
    """A mount from /proc/self/mountinfo. `kind` is the type of the file system, of which `cgroup2` and `cgroup` matter
    here. `root` is the folder of that file system that is mounted, `point` the path where it is mounted. `options` are
    those of the file system, such as `memory`."""

    kind: str
    root: str
    point: str
    options: tuple[str, ...]


class OomCounter:
    """Counts the OOM kills in this container since this object was made, and the kills that ranks of this container
    have claimed since then. Make it before the command of a rank starts. `run`, `proc` and `root` are the folders
    /run/hvdocker, /proc and /."""

    def __init__(self, run: Path = paths.RUN, proc: Path = PROC, root: Path = Path("/")) -> None:
        self._claims = run / "memory-kills"
        self._files = list(counter_files(proc, root))
        self._kills = kills_in(self._files)
        self._claimed = self._count_claims()

    def ended(self, how: ChildExit) -> bool:
        """Return whether the rank ran out of memory; if so, claim the OOM kill. `how` says how the rank's command
        ended. A command that ended by SIGKILL ran out of memory if there was any OOM kill. A command that failed
        otherwise ran out of memory if there is an OOM kill that no rank has claimed. Call this only if the rank was not
        asked to end."""
        kills = kills_in(self._files) - self._kills
        if how.code == 0 or kills <= 0:
            return False
        if how.code != SIGKILL_EXIT_CODE and kills <= self._count_claims() - self._claimed:
            return False
        self._claim()
        return True

    def _claim(self) -> None:
        try:
            with self._claims.open("ab") as file:
                file.write(b".")
        except OSError:
            pass  # Another rank of this container may then claim the same kill.

    def _count_claims(self) -> int:
        try:
            return self._claims.stat().st_size
        except OSError:
            return 0


def kills_in(files: list[Path]) -> int:
    """Return the number of OOM kills. It comes from the first of `files` (from `counter_files`) that has the counter.
    Return 0 if no file has it."""
    for file in files:
        try:
            lines = [line.split() for line in file.read_text(encoding="ascii").splitlines()]
        except (OSError, ValueError):
            continue
        for words in lines:
            if len(words) == 2 and words[0] == "oom_kill":
                return int(words[1])
    return 0


def counter_files(proc: Path = PROC, root: Path = Path("/")) -> Iterator[Path]:
    """Yield the files that may hold the OOM counter of this process's control group, the best first; nothing if /proc
    cannot be read. `proc` and `root` are the folders /proc and /.

    For each mount there are two files: that of the control group, and the one at the top of the mount. The second is
    needed if the mount shows only the container's part of the tree of groups. Then the path of the group may lie
    outside of that part, and the file at the top is the one of the container."""
    try:
        groups = (proc / "self" / "cgroup").read_text(encoding="utf-8", errors="replace")
        mounts = (proc / "self" / "mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for mount in map(parse_mount, mounts.splitlines()):
        path = group_of(mount, groups)
        if path is None:
            continue
        top = root / mount.point.lstrip("/")
        if PurePosixPath(path).is_relative_to(mount.root):
            yield top / PurePosixPath(path).relative_to(mount.root) / COUNTER_NAMES[mount.kind]
        yield top / COUNTER_NAMES[mount.kind]


def parse_mount(line: str) -> Mount:
    """Parse one line of /proc/self/mountinfo. The optional fields of the line end with a dash. Fields that are missing
    are returned as empty strings."""
    before, _, after = line.partition(" - ")
    kind, _, rest = after.partition(" ")
    fields = [*before.split(" "), "", "", "", "", ""]
    return Mount(kind, fields[3], fields[4], tuple(rest.rpartition(" ")[2].split(",")))


def group_of(mount: Mount, groups: str) -> str | None:
    """Return the path of this process's control group in the file system of `mount`; None if memory is not counted
    there. `groups` is the text of /proc/self/cgroup."""
    wanted = {"cgroup2": "", "cgroup": "memory"}.get(mount.kind)
    if wanted is None or (wanted and wanted not in mount.options):
        return None
    lines = (line.split(":", 2) for line in groups.splitlines() if line.count(":") >= 2)
    return next((path for _number, names, path in lines if wanted in names.split(",")), None)
