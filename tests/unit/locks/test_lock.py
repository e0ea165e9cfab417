"""Locks that dead runs left, as they are told."""

from pathlib import Path

from hvdocker.env import Env
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.locks.held_locks import HeldLocks
from hvdocker.locks.lock import clear_dead_locks
from tests.unit.builders import inventory
from tests.unit.locks.test_held_locks import BOB, Machine


def test_a_dead_runs_lock_is_released_and_told_beforehand_where_nothing_may_change(tmp_path: Path) -> None:
    hosts = {name: Machine(name, tmp_path, []) for name in "ab"}
    HeldLocks({"a": hosts["a"]}, BOB).take(0)
    hosts["a"].age(70)
    events: list[Event] = []
    env, lab = Env(listener=events.append), Located(inventory(), tmp_path / "inventory.yaml")
    clear_dead_locks(env, lab, hosts, is_dry_run=True)
    assert hosts["a"].lock.exists()
    clear_dead_locks(env, lab, hosts)
    assert not hosts["a"].lock.exists()
    clear_dead_locks(env, lab, hosts)
    gone = "the lock of bob@desk, which is gone: `train` of cluster two"
    assert events == [Event("note", f"would release {gone}", "a"), Event("note", f"released {gone}", "a")]
