"""Twenty thousand inventories gone wrong: each becomes an inventory or a clear error, never anything else."""

import json
import math
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest

from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.inventory.config_text import ConfigView, config_json, config_yaml
from hvdocker.inventory.fields import ENV_NAME_PATTERN, NAME_PATTERN
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located, read_inventory
from hvdocker.inventory.parse import parse
from hvdocker.inventory.redact import redacted
from hvdocker.inventory.safe_text import has_invisible_characters
from hvdocker.inventory.schema import inventory_schema
from hvdocker.inventory.yaml_document import read_yaml
from hvdocker.names import CLUSTER_NAME_PATTERN
from tests.unit.inventory.mutations import FIXTURES, inventories

COUNT = 20_000
PARTS = 10
FOUND = sorted((FIXTURES / "fuzzed").glob("*.yaml"))
SCHEMA = jsonschema.Draft202012Validator(inventory_schema())


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_inventories_are_read_or_refused_clearly(part: int, tmp_path: Path) -> None:
    accepted = 0
    for number, data in enumerate(inventories(part, COUNT // PARTS)):
        try:
            with bounded():
                accepted += examine(tmp_path / "lab.yaml", data)
        except BaseException:
            kept = tmp_path / f"find-{part}-{number}.yaml"
            kept.write_bytes(data)
            print(f"a find, kept as {kept}")
            raise
    # Both ends are reached, or the mutations are too wild or too tame.
    assert COUNT // PARTS * 0.1 < accepted < COUNT // PARTS * 0.8


@pytest.mark.parametrize("found", FOUND, ids=lambda path: path.stem)
def test_what_was_found_stays_mended(found: Path, tmp_path: Path) -> None:
    with bounded():
        was_accepted = examine(tmp_path / "lab.yaml", found.read_bytes())
    assert was_accepted == found.stem.startswith("right-")


def test_every_find_is_kept() -> None:
    assert len(FOUND) > 10


@contextmanager
def bounded() -> Iterator[None]:
    """A guard against inputs without end, in seconds of the processor: hundreds of times what one needs."""

    def too_long(*_: object) -> None:
        raise AssertionError("this inventory is read without end")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def examine(path: Path, data: bytes) -> bool:
    """Whether it is an inventory; either way everything that can be asked of the answer is asked."""
    _write(path, data)
    try:
        located = read_inventory(Env(cwd=path.parent, environ={}), path)
    except HvdockerError as error:
        check_error(error)
        return False
    check_inventory(located.inventory)
    check_round_trip(located)
    check_schema(data)
    return True


def _write(path: Path, data: bytes) -> None:
    """Over what was there: a file system may wait for the disk where a file is made empty first."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(data)
        file.truncate()


def check_error(error: HvdockerError) -> None:
    assert isinstance(error, UsageProblem), type(error)
    shown = "\n".join((error.what, *error.lines, error.fix or ""))
    assert "lab.yaml" in error.what or "there is no user" in error.what
    for line in error.lines:
        assert re.match(r"(\S.*|\S.* )?\(?line \d+\)?: |inventory: |hosts: |the file is empty|… and \d+ more", line), (
            line
        )
    assert len(shown) < 10_000
    assert all(letter.isprintable() or letter == "\n" for letter in shown), shown
    for noise in ("Traceback", "<class", "object at 0x", "Node(", "Error(", "codec can't"):
        assert noise not in shown, shown
    shown.encode("utf-8")


def check_inventory(inventory: Inventory) -> None:
    assert re.fullmatch(CLUSTER_NAME_PATTERN, inventory.cluster)
    assert inventory.hosts
    assert inventory.port is None or 1 <= inventory.port <= 65535
    assert inventory.cpus is None or (math.isfinite(inventory.cpus) and inventory.cpus > 0)
    for size in (inventory.shm_bytes, inventory.memory_bytes):
        assert size is None or 0 < size < 2**63
    assert all(re.fullmatch(ENV_NAME_PATTERN, name) and "\0" not in value for name, value in inventory.env.items())
    assert all("\n" not in mount.bind() for mount in inventory.mounts)
    assert len({host.name for host in inventory.hosts}) == len(inventory.hosts)
    for host in inventory.hosts:
        assert re.fullmatch(NAME_PATTERN, host.name) and host.name.strip(".")
        assert host.host and not host.host.startswith("-") and host.host.isprintable()
        assert host.ssh.port is None or 1 <= host.ssh.port <= 65535
        words = (host.ssh.user, host.ssh.key, host.ssh.jump)
        assert not any(word and (has_invisible_characters(word) or len(word.splitlines()) != 1) for word in words)
        assert not any(word and word.startswith("-") for word in (host.ssh.user, host.ssh.jump))
        assert host.slots is None or 1 <= host.slots <= 4096


def check_round_trip(located: Located) -> None:
    """What `config` prints is read back as the same inventory, secrets apart."""
    view = ConfigView(redacted(located.inventory), str(located.path), "why")
    assert parse(config_yaml(view), "config", "other") == view.inventory
    json.dumps(config_json(view), allow_nan=False).encode("utf-8")


def check_schema(data: bytes) -> None:
    """An editor does not complain of what hvdocker takes."""
    value = read_yaml(data.decode("utf-8"), "lab.yaml").value
    assert SCHEMA.is_valid(value), next(SCHEMA.iter_errors(value)).message
