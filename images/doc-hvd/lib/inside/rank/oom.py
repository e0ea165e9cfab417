"""Whether the kernel killed for want of memory: its control group counts that. A container's ranks share one
counter, so a rank that takes a kill for its own says so to the others."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from inside.protocol import paths
from inside.runtime.child import Ended
from inside.runtime.processes import PROC

KILLED = 128 + 9
COUNTERS = {"cgroup2": "memory.events", "cgroup": "memory.oom_control"}


class Mount(NamedTuple):
    """A control group file system: which part of it is shown, and where."""

    kind: str
    root: str
    point: str
    options: tuple[str, ...]


class OomCounter:
    """The counter as it was when a rank started."""

    def __init__(self, run: Path = paths.RUN, proc: Path = PROC, root: Path = Path("/")) -> None:
        self._claims = run / "memory-kills"
        self._files = list(counters(proc, root))
        self._kills = kills_in(self._files)
        self._claimed = self._count_claims()

    def ended(self, how: Ended) -> bool:
        """Whether a rank that ended so, unasked, did for want of memory: it was killed, or it failed and
        something was killed that nobody else has claimed."""
        kills = kills_in(self._files) - self._kills
        if how.code == 0 or kills <= 0:
            return False
        if how.code != KILLED and kills <= self._count_claims() - self._claimed:
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
    """The count in the first of the files that has one."""
    for file in files:
        try:
            lines = [line.split() for line in file.read_text(encoding="ascii").splitlines()]
        except (OSError, ValueError):
            continue
        for words in lines:
            if len(words) == 2 and words[0] == "oom_kill":
                return int(words[1])
    return 0


def counters(proc: Path = PROC, root: Path = Path("/")) -> Iterator[Path]:
    """The files that may have the count for this process' own control group. A mount may show only the part
    of the tree that is the container's; where names do not fit together, its top is the container's."""
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
            yield top / PurePosixPath(path).relative_to(mount.root) / COUNTERS[mount.kind]
        yield top / COUNTERS[mount.kind]


def parse_mount(line: str) -> Mount:
    """One line of mountinfo; its optional fields end with a dash."""
    before, _, after = line.partition(" - ")
    kind, _, rest = after.partition(" ")
    fields = [*before.split(" "), "", "", "", "", ""]
    return Mount(kind, fields[3], fields[4], tuple(rest.rpartition(" ")[2].split(",")))


def group_of(mount: Mount, groups: str) -> str | None:
    """The path of this process' group in that file system, if memory is counted there."""
    wanted = {"cgroup2": "", "cgroup": "memory"}.get(mount.kind)
    if wanted is None or (wanted and wanted not in mount.options):
        return None
    lines = (line.split(":", 2) for line in groups.splitlines() if line.count(":") >= 2)
    return next((path for _number, names, path in lines if wanted in names.split(",")), None)
