"""Shipping images to eight hosts: a whole image, and a one-line change on top of an image that they have."""

import itertools
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.benchmark import Bar, Benchmark, Candidate, Row, timed_call
from bench.testbed import TRAINING_IMAGE, Testbed, run, run_pipelines
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel

CHANGED = "hvdocker-bench:changed"


def _push(ground: Testbed, hosts: Sequence[LabHost], image: str, cache: str) -> None:
    inventory = ground.inventory(hosts, image, "bench-ship")
    ground.hvdocker("image", "push", image, "-i", inventory, XDG_CACHE_HOME=str(ground.folder / cache))


def _by_hand(ground: Testbed, hosts: Sequence[LabHost], image: str) -> None:
    save = shlex.join(["docker", "save", image])
    run_pipelines([save] * len(hosts), [ground.ssh(host, "docker load -q") for host in hosts])


def _clear_cache(ground: Testbed, cache: str) -> None:
    shutil.rmtree(ground.folder / cache, ignore_errors=True)


@contextmanager
def _first(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Eight hosts without any layer of the training image (1 GB), and a controller that has the image in its
    engine and an empty layer cache. Ours: `hvdocker image push`. Theirs: `docker save | ssh docker load`, to
    all eight hosts in parallel."""
    hosts = ground.hosts(image=None)

    def before() -> None:
        _clear_cache(ground, "cold")
        in_parallel(lambda host: host.exec("docker images -aq | sort -u | xargs -r docker rmi -f"), hosts)

    yield {
        "hvdocker": Candidate(timed_call(_push, ground, hosts, TRAINING_IMAGE, "cold"), before),
        "save": Candidate(timed_call(_by_hand, ground, hosts, TRAINING_IMAGE), before),
    }


@contextmanager
def _change(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Eight hosts that have the training image; the controller has an image with one more small layer on
    top, a new one for every round and candidate. Ours, cold: `hvdocker image push` with an empty layer
    cache, so that the image is first exported from the engine. Ours, warm: with the new layer in the cache,
    as after a push to one host to try it out; that push is not measured. Theirs: `docker save | ssh docker
    load`, to all eight hosts in parallel."""
    hosts = ground.hosts(image=TRAINING_IMAGE)
    numbers = itertools.count()

    def change() -> None:
        in_parallel(lambda host: host.attempt(["docker", "rmi", "-f", CHANGED]), hosts)
        recipe = f"FROM {TRAINING_IMAGE}\nRUN echo {next(numbers)} > /etc/bench\n"
        run(["docker", "build", "-q", "-t", CHANGED, "-"], input=recipe)

    def change_and_forget() -> None:
        change()
        _clear_cache(ground, "cold")

    def change_and_try_out() -> None:
        change()
        _push(ground, hosts[:1], CHANGED, "warm")
        hosts[0].docker("rmi", "-f", CHANGED)

    yield {
        "cold": Candidate(timed_call(_push, ground, hosts, CHANGED, "cold"), change_and_forget),
        "warm": Candidate(timed_call(_push, ground, hosts, CHANGED, "warm"), change_and_try_out),
        "save": Candidate(timed_call(_by_hand, ground, hosts, CHANGED), change),
    }
    in_parallel(lambda host: host.attempt(["docker", "rmi", "-f", CHANGED]), hosts)
    run(["docker", "rmi", "-f", CHANGED])


SAVE = "docker save | ssh docker load"
BENCHMARKS = (
    Benchmark(
        "ship-first",
        _first,
        (Row("first ship of a 1 GB image, 8 hosts", SAVE, "hvdocker", "save", Bar(0.7)),),
        is_slow=True,
    ),
    Benchmark(
        "ship-change",
        _change,
        (
            Row("ship a one-line change, 8 hosts", SAVE, "cold", "save", Bar(0.15)),
            Row("the same, layers in the cache", SAVE, "warm", "save", Bar(0.03)),
        ),
        is_slow=True,
    ),
)
