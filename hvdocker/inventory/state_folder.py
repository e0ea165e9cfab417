"""Reads and writes the .hvdocker/ folder beside an inventory.

The folder has the pointer to the current inventory, and the inventory that `up --hosts` or `up --local` generates."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, InventoryError, UsageProblem
from hvdocker.inventory.locate import FOLDER, PIPE, Located, check_cluster_name, read_pointer
from hvdocker.inventory.parse import parse, without_lines


def generate(
    env: Env,
    *,
    hosts: list[str] | None = None,
    local: int | None = None,
    image: str | None = None,
    cluster: str | None = None,
) -> Located:
    """Return an inventory made from the flags of `up`. Give either `hosts` (`up --hosts`), spelled as in an inventory
    (`user@host`), or `local` (`up --local`), the number of workers.

    This function writes no file: `point_at` later writes the inventory into .hvdocker/, so that other verbs find it.
    If `image` is None, the inventory names no image. `cluster` defaults to the name of the current folder. Raise
    HvdockerError if .hvdocker/ has an inventory of another cluster, or of another kind (local or not), and UsageProblem
    for wrong values."""
    if cluster:
        check_cluster_name(cluster)
    body: dict[str, object] = {"cluster": cluster or names.as_cluster_name(env.cwd.name)}
    body["local" if local is not None else "hosts"] = local if local is not None else hosts
    if image:
        body["image"] = image
    source = "--local" if local is not None else "--hosts"
    text = _generated(body)
    path = env.cwd / FOLDER / "inventory.yaml"
    _refuse_other(path, local is not None, str(body["cluster"]))
    try:
        return Located(parse(text, source, ""), path, text)
    except InventoryError as error:
        raise without_lines(error, source) from error


def _generated(body: object) -> str:
    text = yaml.safe_dump(body, sort_keys=False)
    return _header(text) + text


def _header(body: str) -> str:
    digest = hashlib.sha256(body.encode()).hexdigest()[:12]
    return f"# Written by `hvdocker up` ({digest}); the verbs after it read this.\n"


def _is_untouched(text: str) -> bool:
    """Return whether `text`, an inventory file, is still exactly what `generate` made.

    `down` deletes only such a file, and keeps a file that the user edited."""
    header, _, body = text.partition("\n")
    return f"{header}\n" == _header(body)


def _refuse_other(path: Path, is_local: bool, cluster: str) -> None:
    """Raise HvdockerError if the inventory at `path` in .hvdocker/ is not of the cluster `cluster`.

    Raise it also if the inventory cannot be read, or if only one of it and the new inventory is local (`is_local` is
    about the new inventory). Replacing such an inventory would lose the list of its hosts. A missing file is no
    problem."""
    if not path.is_file():
        return
    try:
        earlier = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        earlier = None
    is_same = isinstance(earlier, dict) and ("local" in earlier) == is_local
    if not is_same or earlier.get("cluster") != cluster:
        raise HvdockerError(
            f"this folder already has a cluster: {path}", fix="take it down first (hvdocker down), or work elsewhere"
        )


@contextmanager
def writing_state(located: Located) -> Iterator[None]:
    """Turn an OSError of the code in the `with` block into a UsageProblem that names the .hvdocker/ folder."""
    try:
        yield
    except OSError as error:
        raise _unwritable(located, error.strerror or str(error)) from error


def check_state_is_writable(located: Located) -> None:
    """Raise UsageProblem if files of jobs could not be written to .hvdocker/.

    Verbs that fetch results call this before they change anything on a host."""
    folder = next(path for path in (located.jobs, *located.jobs.parents) if path.exists())
    if not folder.is_dir():
        raise _unwritable(located, f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(located, f"no permission to write to {folder}")


def _unwritable(located: Located, why: str) -> UsageProblem:
    return UsageProblem(
        f"{located.state} cannot be written: {why}",
        fix="it has the results of jobs and the current cluster: copy the inventory into a folder of your own, "
        "and name it with -i",
    )


def point_at(located: Located) -> str | None:
    """Make this inventory the current inventory of its folder, which verbs use if the user names none.

    For a cluster that was named with `--cluster`, do nothing and return None. Raise UsageProblem if the inventory is a
    pipe."""
    if located.flag:
        return None
    if located.path.is_fifo():
        raise UsageProblem(
            f"{PIPE} can be read once only, and later verbs read it again",
            fix="write it to a file, and name that: hvdocker up inventory.yaml",
        )
    with writing_state(located):
        return _write_pointer(located)


def _write_pointer(located: Located) -> str | None:
    located.state.mkdir(parents=True, exist_ok=True)
    if located.generated is not None:
        located.path.write_text(located.generated, encoding="utf-8")
    shown = str(
        located.path.relative_to(located.folder) if located.path.is_relative_to(located.folder) else located.path
    )
    pointer = located.state / "current.json"
    before = _pointed(pointer)
    hosts = {**former_hosts(located), **_hosts(located)}
    draft = pointer.with_suffix(".part")
    draft.write_text(json.dumps({"inventory": shown, "hosts": hosts}) + "\n", encoding="utf-8")
    draft.replace(pointer)
    return str(before) if before and before.resolve() != located.path.resolve() else None


def former_hosts(located: Located) -> dict[str, str]:
    """Return the hosts that an earlier `up` used and that are no longer in the inventory.

    The result maps what ssh connects to (`host:`) to the host's name. It is empty if this inventory is not the current
    one. No verb connects to these hosts. Their containers stay until the user adds the hosts to the inventory again and
    takes the cluster down."""
    pointer = located.state / "current.json"
    pointed = _pointed(pointer)
    if located.flag or pointed is None or pointed.resolve() != located.path.resolve():
        return {}
    try:
        known = json.loads(pointer.read_text(encoding="utf-8"))["hosts"]
        earlier = {str(reached): str(name) for reached, name in known.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    now = _hosts(located)
    return {reached: name for reached, name in earlier.items() if reached not in now}


def _hosts(located: Located) -> dict[str, str]:
    """Return the inventory's hosts as a mapping from what ssh connects to (`host:`) to the host's name.

    The mapping is empty for a local cluster, whose workers are found by their labels."""
    inventory = located.inventory
    return {} if inventory.is_local else {host.host: host.name for host in inventory.hosts}


def former_note(name: str, reached: str) -> str:
    return (
        f"{name} ({reached}) is not in the inventory any more: if it had a worker, it still has it; "
        "name it there again for hvdocker down to find it"
    )


def forget(located: Located) -> None:
    """Remove current.json and the generated inventory when the cluster is gone, after `down` or a failed `up`.

    An inventory that the user edited, fetched jobs and a pointer to another inventory stay. Do nothing for a
    cluster that was named with `--cluster`."""
    if not located.flag:
        with writing_state(located):
            _remove_pointer(located)


def _remove_pointer(located: Located) -> None:
    pointer = located.state / "current.json"
    pointed = _pointed(pointer)
    if pointed and pointed.resolve() == located.path.resolve():
        pointer.unlink(missing_ok=True)
    own = located.state / "inventory.yaml"
    if located.path == own and own.is_file() and _is_untouched(own.read_text(encoding="utf-8")):
        own.unlink()
    if located.state.is_dir() and not any(located.state.iterdir()):
        located.state.rmdir()


def _pointed(pointer: Path) -> Path | None:
    try:
        return read_pointer(pointer)
    except HvdockerError:
        return None
