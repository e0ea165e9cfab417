"""Opening: what is tried again, how often, and how many at once. Nothing is connected."""

import threading
from collections.abc import Callable, Iterator
from itertools import islice

import fabric
import paramiko
import pytest

from hvdocker.inventory.inventory import Host
from hvdocker.transport.ssh import connect as module
from hvdocker.transport.ssh.connect import MAX_OPENING, Credentials, SshRoute, _pauses, _was_dropped, connect

HOST = Host("a", "gpu-a")


class Asleep:
    """A clock that only the pauses move."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Asleep:
    clock = Asleep()
    monkeypatch.setattr(module, "time", clock)
    return clock


Opening = Callable[[Callable[[], object]], None]


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Opening:
    """Puts something in the place of one attempt."""

    def use(attempt: Callable[[], object]) -> None:
        monkeypatch.setattr(module, "_connect", lambda host, way: attempt())

    return use


def fails_with(*errors: BaseException) -> Callable[[], object]:
    left = list(errors)

    def attempt() -> object:
        if left:
            raise left.pop(0)
        return "open"

    return attempt


def test_a_server_that_drops_connections_is_tried_again(clock: Asleep, opening: Opening) -> None:
    banner = paramiko.SSHException("Error reading SSH protocol banner")
    opening(fails_with(ConnectionResetError(), banner, EOFError()))
    assert connect(HOST, SshRoute()) == "open"
    assert clock.now > 0


def test_not_for_ever(clock: Asleep, opening: Opening) -> None:
    attempts: list[int] = []

    def attempt() -> object:
        attempts.append(1)
        raise ConnectionResetError

    opening(attempt)
    with pytest.raises(ConnectionResetError):
        connect(HOST, SshRoute())
    assert 3 <= len(attempts) <= 20 and clock.now <= HOST.ssh.handshake_limit_s


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        TimeoutError(),
        paramiko.AuthenticationException("no"),
        paramiko.SSHException("Incompatible ssh peer"),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_will_not_change_is_told_at_once(clock: Asleep, opening: Opening, error: BaseException) -> None:
    opening(fails_with(error))
    with pytest.raises(type(error)):
        connect(HOST, SshRoute())
    assert clock.now == 0 and not _was_dropped(error)


def test_pauses_grow_and_differ() -> None:
    ours, theirs = list(islice(_pauses(), 8)), list(islice(_pauses(), 8))
    assert ours != theirs
    assert ours[5] > ours[0] and max(ours) <= 3


class Jump:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_the_jump_hosts_of_a_dropped_attempt_are_left(clock: Asleep, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps: list[Jump] = []

    def attempt(host: Host, way: SshRoute) -> str:
        way.jumps.append(Jump())
        jumps.append(way.jumps[-1])
        if len(jumps) < 3:
            raise EOFError
        return "open"

    monkeypatch.setattr(module, "_connect", attempt)
    way = SshRoute()
    assert connect(HOST, way) == "open"
    assert [jump.is_closed for jump in jumps] == [True, True, False] and way.jumps == jumps[2:]


@pytest.fixture
def threads() -> Iterator[list[threading.Thread]]:
    made: list[threading.Thread] = []
    yield made
    for thread in made:
        thread.join(10)
        assert not thread.is_alive()


def test_only_so_many_are_opened_at_once(opening: Opening, threads: list[threading.Thread]) -> None:
    inside, go_on = threading.Semaphore(0), threading.Event()

    def attempt() -> None:
        inside.release()
        assert go_on.wait(10)

    opening(attempt)
    for _ in range(MAX_OPENING + 5):
        threads.append(threading.Thread(target=connect, args=(HOST, SshRoute())))
        threads[-1].start()
    assert all(inside.acquire(timeout=10) for _ in range(MAX_OPENING))
    assert not inside.acquire(timeout=0.05)
    go_on.set()
    assert all(inside.acquire(timeout=10) for _ in range(5))


def test_no_configuration_is_read_while_another_connection_is_made() -> None:
    """Fabric empties and fills the one that it is given: `No attribute or config key found`, when busy."""
    credentials = Credentials()
    first, second = credentials.config(), credentials.config()
    fabric.Connection("a", user="ada", config=first)
    assert first is not second and first.base_ssh_config is second.base_ssh_config
