"""The CPU time of hvdocker's own programs beside running ranks: supervisor, spawner, agents, rank wrappers and ssh."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.benchmark import Bar, Benchmark, Candidate, Row
from bench.testbed import SMALL_IMAGE, Testbed
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel, until

SCRIPTS = Path(__file__).parents[1] / "scripts"
SCRIPT = "lines.py"
CLUSTER = "bench-overhead"
RANKS = 2
WINDOW_S = 15.0
START_S = 60.0

# Prints the CPU time of each process with the given ids, in clock ticks, with that of children that ended. The ranks
# are left out. The fields are counted after the program's name, which may contain blanks.
CPU_SCRIPT = r"""
script=$1; shift
getconf CLK_TCK
for pid; do
    tr '\0' ' ' < "/proc/$pid/cmdline" 2>/dev/null | grep -q -e "$script" && echo "$pid rank" && continue
    ticks=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | awk '{print $12 + $13 + $14 + $15}')
    [ -n "$ticks" ] && echo "$pid $ticks"
done
true
"""


def _job(rate: int) -> Callable[[Testbed], AbstractContextManager[Mapping[str, Candidate]]]:
    """Return the setup of a job with one rank on each of two hosts, which prints `rate` lines per second."""

    @contextmanager
    def setup(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
        """A detached job of two ranks: the share of one core that our programs take on both hosts, per rank."""
        hosts = ground.hosts(RANKS, SMALL_IMAGE)
        inventory = ground.inventory(hosts, SMALL_IMAGE, CLUSTER)
        code = inventory.parent / "code"
        shutil.copytree(SCRIPTS, code, dirs_exist_ok=True)
        ground.hvdocker("up", inventory)
        try:
            ground.hvdocker("train", code / SCRIPT, "-np", str(RANKS), "-d", "-i", inventory, "--", str(rate))
            until(lambda: _ranks(hosts) == RANKS or None, "both ranks run", START_S)
            yield {"hvdocker": Candidate(lambda: _percent_of_a_core(hosts))}
        finally:
            ground.hvdocker("down", "-i", inventory, "-y", "--discard", "--force")
            in_parallel(LabHost.reset, hosts)

    return setup


def _percent_of_a_core(hosts: Sequence[LabHost]) -> float:
    before, started = _cpu_s(hosts), time.monotonic()
    time.sleep(WINDOW_S)
    after, took = _cpu_s(hosts), time.monotonic() - started
    return 100 * (after - before) / took / RANKS


def _cpu_s(hosts: Sequence[LabHost]) -> float:
    return sum(in_parallel(lambda host: _measure(host)[0], hosts))


def _ranks(hosts: Sequence[LabHost]) -> int:
    return sum(in_parallel(lambda host: _measure(host)[1], hosts))


def _measure(host: LabHost) -> tuple[float, int]:
    """Return the CPU seconds of our programs in the cluster's containers on the host, and the number of ranks there."""
    names = host.docker("ps", "-q", "--filter", f"label=hvdocker.cluster={CLUSTER}").split()
    pids = [pid for name in names for pid in host.docker("top", name, "-eo", "pid").split()[1:]]
    first, *lines = host.exec(["sh", "-c", CPU_SCRIPT, "cpu", SCRIPT, *pids]).splitlines()
    values = [line.split()[1] for line in lines]
    ours = [int(value) for value in values if value != "rank"]
    return sum(ours) / int(first), len(values) - len(ours)


def _row(name: str, limit: float) -> Row:
    return Row(name, "nobody: percent of a core per rank", "hvdocker", None, Bar(limit), unit="%")


BENCHMARKS = (
    Benchmark("overhead-silent", _job(0), (_row("our CPU time beside a rank that is silent", 0.5),), is_slow=True),
    Benchmark(
        "overhead-lines", _job(1000), (_row("our CPU time beside a rank that prints 1,000 lines/s", 10),), is_slow=True
    ),
)
