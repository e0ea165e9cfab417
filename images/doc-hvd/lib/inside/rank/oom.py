"""Whether the kernel killed a process of a rank because memory ran out, by the counter of the container's
control group. All ranks of a container share that counter. So a rank claims a kill as its own, and a peer
that fails because of it is not reported as out of memory."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from inside.protocol import paths
from inside.runtime.child import ChildExit
from inside.runtime.processes import PROC

SIGKILL_EXIT_CODE = 128 + 9
COUNTER_NAMES = {"cgroup2": "memory.events", "cgroup": "memory.oom_control"}


class Mount(NamedTuple):
    """A mounted control group file system: `root` is the part of it that is shown, `point` where."""

    kind: str
    root: str
    point: str
    options: tuple[str, ...]


class OomCounter:
    """The kills since a rank started, and the claims of all ranks in this container."""

    def __init__(self, run: Path = paths.RUN, proc: Path = PROC, root: Path = Path("/")) -> None:
        self._claims = run / "memory-kills"
        self._files = list(counter_files(proc, root))
        self._kills = kills_in(self._files)
        self._claimed = self._count_claims()

    def ended(self, how: ChildExit) -> bool:
        """Return whether a rank that ended like this, without being asked to, ran out of memory: it was
        killed, or it failed and there is a kill that no other rank has claimed. Claims the kill."""
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
            pass  # Another rank of this host may then claim it too.

    def _count_claims(self) -> int:
        try:
            return self._claims.stat().st_size
        except OSError:
            return 0


def kills_in(files: list[Path]) -> int:
    """Return the count from the first file that has one; 0 if none has."""
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
    """Yield the files that may hold the counter of this process's control group. A mount may show only the
    container's part of the tree; if its root does not match the group's path, the top of the mount is taken
    for the container's."""
    try:
        groups = (proc / "self" / "cgroup").read_text(encoding="utf-8")
        mounts = (proc / "self" / "mountinfo").read_text(encoding="utf-8")
    except (OSError, ValueError):
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
    """Parse one line of mountinfo. Its optional fields end with a dash."""
    before, _, after = line.partition(" - ")
    kind, _, rest = after.partition(" ")
    fields = [*before.split(" "), "", "", "", "", ""]
    return Mount(kind, fields[3], fields[4], tuple(rest.rpartition(" ")[2].split(",")))


def group_of(mount: Mount, groups: str) -> str | None:
    """Return the path of this process's group in that file system; None if memory is not counted there."""
    wanted = {"cgroup2": "", "cgroup": "memory"}.get(mount.kind)
    if wanted is None or (wanted and wanted not in mount.options):
        return None
    lines = (line.split(":", 2) for line in groups.splitlines() if line.count(":") >= 2)
    return next((path for _number, names, path in lines if wanted in names.split(",")), None)
