"""How many commands and engine calls an `up` makes on each host: observation, locks, and its plan carried out.

A change that adds one fails here. If it is worth its price, change the table and justify it in the commit. What is sent
for them over SSH is counted against hosts, in tests/thorough/test_round_trips.py."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.locks.held_locks import hold_locks
from hvdocker.locks.holder import Claim
from hvdocker.observe.hosts import observe_hosts, refresh_state
from hvdocker.plan.apply import Context, apply
from hvdocker.shell.command import Command
from tests.unit.builders import MAKER, host_seen, inventory, state_of
from tests.unit.fakes import FakeEngine, FakeLink

LAB = inventory("hosts: [a, b]")
PROBE = b"ports yes\nuid 1000\ngid 1001\nhome /home/a\nmemory 8000000\naddress 10.0.0.11\n"
PASSWD = b"root:x:0:0::/root:/bin/sh\n"
IMAGE = {"Id": "sha256:aaaa", "Architecture": "amd64", "RootFS": {"Layers": ["sha256:bbbb"]}}


def answer(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    """Answer the probe and the scripts of locks and ports: each reads its own lines."""
    return 0, PROBE + b"state taken\nlistens 0016\ndone\n", b""


@dataclass
class CountingEngine:
    """Counts the calls of every method. Calls of a method without an answer return an empty dict."""

    called: Counter[str]
    engine_version: str = "27.0"
    answers: dict[str, object] = field(
        default_factory=lambda: {
            "containers": [],
            "inspect_image": IMAGE,
            "create_container_from_config": {"Id": "made"},
            "exec_create": {"Id": "exec"},
            "exec_start": b"{}",
            "exec_inspect": {"ExitCode": 0},
        }
    )

    def get_archive(self, container: str, path: str) -> tuple[Iterator[bytes], dict[str, object]]:
        self.called["get_archive"] += 1
        return FakeEngine({path: PASSWD}).get_archive(container, path)

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*args: object, **settings: object) -> object:
            self.called[name] += 1
            return self.answers.get(name, {})

        return call


@dataclass
class CountingLink(FakeLink):
    called: Counter[str] = field(default_factory=Counter)

    def engine(self) -> CountingEngine:
        return CountingEngine(self.called)

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes:
        self.called["greeting"] += 1
        return b"SSH-2.0-OpenSSH"

    def counted(self) -> dict[str, int]:
        """Return what was counted since the last call. Commands are counted under `run`."""
        found = {**self.called, **({"run": len(self.ran)} if self.ran else {})}
        self.called.clear()
        self.ran.clear()
        return found


def links() -> dict[str, CountingLink]:
    return {name: CountingLink(name, answer) for name in ("a", "b")}


def test_the_first_and_the_second_look_at_a_host() -> None:
    hosts = links()
    assert observe_hosts(LAB, hosts).failed == {}
    assert [link.counted() for link in hosts.values()] == [
        {"containers": 1, "info": 1, "inspect_image": 1, "run": 1}
    ] * 2
    refresh_state(LAB, hosts, state_of(host_seen("a"), host_seen("b")))
    assert [link.counted() for link in hosts.values()] == [{"containers": 1, "inspect_image": 1}] * 2


def test_a_lock_costs_one_command_and_its_release_another() -> None:
    hosts = links()
    with hold_locks(hosts, Claim("token", "ada", "laptop", "ada", "up", "lab")):
        assert [link.counted() for link in hosts.values()] == [{"run": 1}] * 2
    assert [link.counted() for link in hosts.values()] == [{"run": 1}] * 2


def test_the_plan_of_a_new_cluster() -> None:
    hosts = links()
    state = state_of(host_seen("a"), host_seen("b"))
    apply(plan_up(LAB, state, plan_hosts(LAB, state), MAKER), Context(LAB, hosts))
    counted = {name: link.counted() for name, link in hosts.items()}
    # The image's /etc/passwd is read once for all hosts, from the host whose thread comes first.
    assert sum(found.pop("get_archive", 0) for found in counted.values()) == 1
    worker = {"create_container_from_config": 1, "greeting": 1, "put_archive": 1, "run": 1, "start": 1}
    mesh = {"exec_create": 1, "exec_inspect": 1, "exec_start": 1}
    assert counted == {"a": worker | mesh, "b": worker}
