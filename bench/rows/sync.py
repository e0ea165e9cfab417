"""Syncing: 2,000 files to eight hosts for the first time, again without changes, and one large file."""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.benchmark import Bar, Benchmark, Candidate, Row, Setup, timed_call
from bench.rows import rsync
from bench.testbed import Testbed, run_parallel, run_pipelines
from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import sync_all
from hvdocker.sync.walk import read_tree
from hvdocker.transport.ssh.link import SshLink
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel

FILES = 2000
SIZE = 10_000
MB = 1_000_000
FOLDER = "/home/trainer/bench"


def _push(links: Mapping[str, SshLink], source: Path, folder: str) -> None:
    """Sync as `train` does: read and pack the folder once for all hosts."""
    tree = read_tree(source, HashCache.of_user())
    targets = {name: SyncTarget(link, folder) for name, link in links.items()}
    sync_all(targets, tree).or_raise("syncing failed")


def _ours(ground: Testbed, hosts: Sequence[LabHost], source: Path) -> None:
    with ground.links(hosts) as links:
        _push(links, source, FOLDER)


def _project(folder: Path) -> Path:
    """Write 2,000 files of 10 KB in 40 folders, half text-like, half noise; the same bytes in every run."""
    if folder.exists():
        return folder
    seeded = random.Random(7)
    for number in range(FILES):
        path = folder / f"package{number % 40}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = b"".join(b"value_%d = %d\n" % (n, seeded.randrange(10**6)) for n in range(220))
        path.write_bytes(words[: SIZE // 2] + seeded.randbytes(SIZE - SIZE // 2))
    return folder


def _clear(hosts: Sequence[LabHost]) -> None:
    in_parallel(lambda host: host.exec(f"rm -rf {FOLDER} {FOLDER}.*"), hosts)


@contextmanager
def _first(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Eight hosts that have none of 2,000 files (20 MB). Ours: connect, read the folder, send, verify.
    Theirs: `tar | ssh tar -x` to all eight hosts in parallel, which verifies nothing."""
    hosts, source = ground.hosts(image=None), _project(ground.folder / "project")

    def theirs() -> None:
        unpack = f"mkdir -p {FOLDER} && tar -xf - -C {FOLDER}"
        run_pipelines([f"tar -cf - -C {source} ."] * len(hosts), [ground.ssh(host, unpack) for host in hosts])

    def before() -> None:
        _clear(hosts)

    yield {
        "hvdocker": Candidate(timed_call(_ours, ground, hosts, source), before),
        "tar": Candidate(theirs, before),
    }
    _clear(hosts)


@contextmanager
def _resync(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Eight hosts that already have all 2,000 files. Ours: connect, read the folder, find that nothing has
    to be sent. Theirs: `rsync -a --delete` over ssh, to all eight hosts in parallel."""
    hosts, source = ground.hosts(image=None), _project(ground.folder / "project")
    in_parallel(rsync.install, hosts)
    shell = f"{ground.openssh} -F {ground.ssh_config}"
    words = ["rsync", "-a", "--delete", "-e", shell, "--rsync-path", rsync.REMOTE, f"{source}/"]

    def theirs() -> None:
        run_parallel([[*words, f"{host.address}:{FOLDER}-rsync/"] for host in hosts])

    _clear(hosts)
    yield {"hvdocker": Candidate(timed_call(_ours, ground, hosts, source)), "rsync": Candidate(theirs)}
    _clear(hosts)
    in_parallel(lambda host: host.exec(f"rm -rf {FOLDER}-rsync {rsync.FOLDER}"), hosts)


def _large(megabytes: int, count: int, measured: Callable[[Callable[[], None], int], float]) -> Setup:
    """Return the setup of one large file, of so many megabytes, to `count` hosts. `measured` runs a candidate, and
    returns its measure for the megabytes of all hosts."""

    @contextmanager
    def setup(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
        """One file of random bytes. Ours: connect and sync the folder that holds it; its hash is cached since the
        warm-up round. Theirs: `cat` over `ssh` with its fastest cipher, to all hosts in parallel."""
        hosts = ground.hosts(count, image=None)
        folder = ground.folder / "large"
        folder.mkdir(exist_ok=True)
        path = folder / "data.bin"
        with path.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(MB))
        receive = f"mkdir -p {FOLDER} && cat > {FOLDER}/data.bin"

        def theirs() -> None:
            lines = [ground.ssh(host, receive, options=["-c", "aes128-gcm@openssh.com"]) for host in hosts]
            run_parallel(lines, stdin=[path] * count)

        def before() -> None:
            _clear(hosts)

        total = megabytes * count
        yield {
            "hvdocker": Candidate(lambda: measured(lambda: _ours(ground, hosts, folder), total), before),
            "ssh": Candidate(lambda: measured(theirs, total), before),
        }
        _clear(hosts)
        shutil.rmtree(folder)

    return setup


def _speed(work: Callable[[], None], megabytes: int) -> float:
    """Return the megabytes per second of `work`."""
    started = time.perf_counter()
    work()
    return megabytes / (time.perf_counter() - started)


def _processor_time(work: Callable[[], None], megabytes: int) -> float:
    """Return the seconds of processor time per GB that this process and its children need for `work`."""
    started = _processor_s()
    work()
    return 1000 * (_processor_s() - started) / megabytes


def _processor_s() -> float:
    return sum(os.times()[:4])


SSH = "ssh, aes128-gcm"
BENCHMARKS = (
    Benchmark(
        "sync-again",
        _resync,
        (Row("re-sync 2,000 files, 8 hosts", "rsync -a in parallel", "hvdocker", "rsync", Bar(0.5)),),
    ),
    Benchmark(
        "sync-first",
        _first,
        (Row("first sync of 2,000 files, 8 hosts", "tar | ssh tar", "hvdocker", "tar", Bar(1.2)),),
    ),
    Benchmark(
        "sync-large",
        _large(512, 1, _speed),
        (Row("one large file", SSH, "hvdocker", "ssh", Bar(0.9, is_floor=True), unit="MB/s"),),
    ),
    Benchmark(
        "sync-large-8",
        _large(256, 8, _speed),
        (
            Row(
                "one large file, 8 hosts",
                f"{SSH}, in parallel",
                "hvdocker",
                "ssh",
                Bar(0.9, is_floor=True),
                unit="MB/s",
            ),
        ),
    ),
    Benchmark(
        "sync-large-cpu",
        _large(1000, 1, _processor_time),
        (Row("one large file, processor time of the sender", SSH, "hvdocker", "ssh", Bar(1.15), unit="s/GB"),),
    ),
)
