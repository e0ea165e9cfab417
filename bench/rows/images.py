"""Shipping images to eight hosts: a whole image, and a one-line change on top of an image that they have."""

import itertools
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.contest import Bar, Contest, Contestant, Row, doing
from bench.ground import TRAINING_IMAGE, Ground, pipes, run
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import side_by_side

CHANGED = "hvdocker-bench:changed"


def _push(ground: Ground, hosts: Sequence[LabHost], image: str, cache: str) -> None:
    inventory = ground.inventory(hosts, image, "bench-ship")
    ground.hvdocker("image", "push", image, "-i", inventory, XDG_CACHE_HOME=str(ground.folder / cache))


def _by_hand(ground: Ground, hosts: Sequence[LabHost], image: str) -> None:
    save = shlex.join(["docker", "save", image])
    pipes([save] * len(hosts), [ground.ssh(host, "docker load -q") for host in hosts])


def _forget(ground: Ground, cache: str) -> None:
    shutil.rmtree(ground.folder / cache, ignore_errors=True)


@contextmanager
def _first(ground: Ground) -> Iterator[Mapping[str, Contestant]]:
    """Eight hosts without any layer of the training image (1 GB), and a controller that has the image in its
    engine and an empty layer cache. Ours: `hvdocker image push`. Theirs: `docker save | ssh docker load`, to
    all eight hosts in parallel."""
    hosts = ground.hosts(image=None)

    def before() -> None:
        _forget(ground, "cold")
        side_by_side(lambda host: host.exec("docker images -aq | sort -u | xargs -r docker rmi -f"), hosts)

    yield {
        "hvdocker": Contestant(doing(_push, ground, hosts, TRAINING_IMAGE, "cold"), before),
        "save": Contestant(doing(_by_hand, ground, hosts, TRAINING_IMAGE), before),
    }


@contextmanager
def _change(ground: Ground) -> Iterator[Mapping[str, Contestant]]:
    """Eight hosts that have the training image; the controller has an image with one more small layer on
    top, a new one for every round and candidate. Ours, cold: `hvdocker image push` with an empty layer
    cache, so that the image is first exported from the engine. Ours, warm: with the new layer in the cache,
    as after a push to one host to try it out; that push is not measured. Theirs: `docker save | ssh docker
    load`, to all eight hosts in parallel."""
    hosts = ground.hosts(image=TRAINING_IMAGE)
    numbers = itertools.count()

    def change() -> None:
        side_by_side(lambda host: host.attempt(["docker", "rmi", "-f", CHANGED]), hosts)
        recipe = f"FROM {TRAINING_IMAGE}\nRUN echo {next(numbers)} > /etc/bench\n"
        run(["docker", "build", "-q", "-t", CHANGED, "-"], input=recipe)

    def change_and_forget() -> None:
        change()
        _forget(ground, "cold")

    def change_and_try_out() -> None:
        change()
        _push(ground, hosts[:1], CHANGED, "warm")
        hosts[0].docker("rmi", "-f", CHANGED)

    yield {
        "cold": Contestant(doing(_push, ground, hosts, CHANGED, "cold"), change_and_forget),
        "warm": Contestant(doing(_push, ground, hosts, CHANGED, "warm"), change_and_try_out),
        "save": Contestant(doing(_by_hand, ground, hosts, CHANGED), change),
    }
    side_by_side(lambda host: host.attempt(["docker", "rmi", "-f", CHANGED]), hosts)
    run(["docker", "rmi", "-f", CHANGED])


SAVE = "docker save | ssh docker load"
CONTESTS = (
    Contest(
        "ship-first",
        _first,
        (Row("first ship of a 1 GB image, 8 hosts", SAVE, "hvdocker", "save", Bar(0.7)),),
        is_slow=True,
    ),
    Contest(
        "ship-change",
        _change,
        (
            Row("ship a one-line change, 8 hosts", SAVE, "cold", "save", Bar(0.15)),
            Row("the same, layers in the cache", SAVE, "warm", "save", Bar(0.03)),
        ),
        is_slow=True,
    ),
)
