"""SSH connections, and Docker's API over them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from bench.benchmark import Bar, Benchmark, Candidate, Row, Setup
from bench.testbed import SMALL_IMAGE, USER, Testbed, run, run_parallel
from hvdocker.shell.command import command
from hvdocker.transport.pool import for_each_host
from tests.cluster.lab import LabHost


def _connect(count: int) -> Setup:
    @contextmanager
    def prepared(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
        """Both connect to all hosts in parallel, log in with a key, run `true` and disconnect. OpenSSH runs
        with its defaults, one process per host; ours runs in one process whose imports are already done."""
        hosts = {host.name: host for host in ground.hosts(count, image=None)}

        def one(name: str) -> None:
            link = ground.link(hosts[name])
            assert link.run(command("true")).code == 0
            link.close()

        def ours() -> None:
            for_each_host(hosts, one).or_raise("connecting failed")

        def theirs() -> None:
            run_parallel([ground.ssh(host, "true") for host in hosts.values()])

        yield {"hvdocker": Candidate(ours), "ssh": Candidate(theirs)}

    return prepared


@contextmanager
def _container(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Both connect to one host, start a container with host networking, like a worker, and disconnect."""
    (host,) = ground.hosts(1)

    def ours() -> None:
        link = ground.link(host)
        engine = link.engine()
        config = engine.create_host_config(network_mode="host")
        engine.start(engine.create_container(SMALL_IMAGE, ["sleep", "60"], host_config=config)["Id"])
        link.close()

    def theirs() -> None:
        remote = ["docker", "-H", f"ssh://{USER}@{host.address}"]
        run([*remote, "run", "-d", "--network", "host", SMALL_IMAGE, "sleep", "60"])

    before = partial(_clear, host)
    yield {"hvdocker": Candidate(ours, before), "docker": Candidate(theirs, before)}
    host.reset()


def _clear(host: LabHost) -> None:
    host.exec("docker ps -aq | xargs -r docker rm -f")


@contextmanager
def _call(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Both list the containers of a host ten times. Ours: on an open link. Theirs: `docker ps` on the host
    itself, timed there, so that the connection to the host costs them nothing."""
    (host,) = ground.hosts(1)
    script = "i=0; while [ $i -lt 10 ]; do docker ps -q >/dev/null || exit 1; i=$((i+1)); done"
    times = 10
    with ground.links([host]) as links:
        engine = links[host.name].engine()

        def ours() -> None:
            for _ in range(times):
                engine.containers()

        def theirs() -> float:
            timed = f"s=$(date +%s%N); {script}; e=$(date +%s%N); echo $((e - s))"
            return int(host.exec(timed)) / 1e9

        yield {"hvdocker": Candidate(ours), "docker": Candidate(theirs)}


BENCHMARKS = (
    Benchmark(
        "connect-1",
        _connect(1),
        (Row("connect and run, 1 host", "ssh, cold", "hvdocker", "ssh", Bar(0.35)),),
        is_quick=True,
    ),
    Benchmark(
        "connect-8",
        _connect(8),
        (Row("connect and run, 8 hosts", "ssh, cold, in parallel", "hvdocker", "ssh", Bar(0.35)),),
        is_quick=True,
    ),
    Benchmark(
        "container",
        _container,
        (Row("run a container over SSH, cold", "docker -H ssh://host run", "hvdocker", "docker", Bar(0.25)),),
        is_quick=True,
    ),
    Benchmark(
        "call",
        _call,
        (Row("ten Docker calls, open link", "docker on the host itself", "hvdocker", "docker", Bar(0.3)),),
        is_quick=True,
    ),
)
