"""Which cluster is meant: -i, then HVDOCKER_INVENTORY, then the nearest .hvdocker/ upward, then
inventory.yaml here. Never a guess between two."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, NoCluster, UsageProblem
from hvdocker.inventory.inventory import Inventory, KeyPair
from hvdocker.inventory.parse import parse
from hvdocker.units import show_bytes

FOLDER = ".hvdocker"
DEFAULT_NAMES = ("inventory.yaml", "inventory.yml")
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Located:
    """An inventory, the file it came from, and the .hvdocker/ folder beside it. `flag` is what our own
    commands need to mean this cluster, where its name is not the inventory's own."""

    inventory: Inventory
    path: Path
    generated: str | None = None
    flag: str = ""

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the inventory are relative to."""
        parent = self.path.parent
        return parent.parent if parent.name == FOLDER else parent

    @property
    def state(self) -> Path:
        return self.folder / FOLDER

    @property
    def jobs(self) -> Path:
        return self.state / "jobs"


@dataclass(frozen=True)
class Choice:
    """A file, and why it is this one."""

    path: Path
    why: str


def locate(env: Env, explicit: Path | None, cluster: str | None = None) -> Located:
    """The cluster that a verb after `up` means; `cluster` is another name than the inventory's."""
    return named(env, read_inventory(env, choose(env, explicit).path), cluster)


def locate_past(env: Env, explicit: Path | None, cluster: str | None = None) -> Located:
    """For verbs that look back. What came home outlives the inventory that `up --hosts` wrote: without one it
    is the nearest folder with jobs in it, and no hosts."""
    try:
        return locate(env, explicit, cluster)
    except NoCluster:
        folders = (folder / FOLDER for folder in (env.cwd, *env.cwd.parents))
        found = next((folder for folder in folders if (folder / "jobs").is_dir()), None)
        if found is None:
            raise
        return Located(Inventory(names.as_cluster_name(found.parent.name), ()), found / "inventory.yaml")


def named(env: Env, located: Located, cluster: str | None) -> Located:
    """The same hosts under another cluster's name. It is never the current one of a folder: whoever means
    it says so."""
    if not cluster or cluster == located.inventory.cluster:
        return located
    check_cluster_name(cluster)
    flag = f"{inventory_flag(env, located)} --cluster {cluster}"
    # The port that the inventory names is its own cluster's.
    return replace(located, inventory=replace(located.inventory, cluster=cluster, port=None), flag=flag)


def check_cluster_name(cluster: str) -> None:
    if problem := names.cluster_name_problem(cluster):
        raise UsageProblem(f"--cluster {problem}, got {cluster!r}")


def choose(env: Env, explicit: Path | None) -> Choice:
    if explicit:
        return Choice(explicit, "named on the command line")
    named = env.environ.get("HVDOCKER_INVENTORY")
    if named:
        return Choice(Path(named), "named by HVDOCKER_INVENTORY")
    for folder in (env.cwd, *env.cwd.parents):
        pointer = folder / FOLDER / "current.json"
        if pointer.is_file():
            return Choice(_follow(pointer), f"the current one, says {pointer}")
    return Choice(_default(env), "found in this folder")


def read_inventory(env: Env, path: Path) -> Located:
    path = resolved(env, path)
    return understood(read_text(path), path)


def resolved(env: Env, path: Path) -> Path:
    return (env.cwd / at_home(path)).resolve()


def understood(text: str, path: Path) -> Located:
    folder = path.parent.parent if path.parent.name == FOLDER else path.parent
    inventory = parse(text, path.name, names.as_cluster_name(folder.name))
    return Located(with_own_paths(inventory, folder), path)


def read_text(path: Path) -> str:
    """At most so much: a device or a pipe may have no end."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise UsageProblem(
            f"there is no inventory {path}", fix="check the path, or write one: hvdocker init"
        ) from error
    except OSError as error:
        raise UsageProblem(f"the inventory {path} cannot be read: {error.strerror or error}") from error
    if len(data) > MOST_BYTES:
        raise UsageProblem(f"{path} is no inventory: it has more than {show_bytes(MOST_BYTES)}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"line {line} is not UTF-8 text (byte 0x{data[error.start]:02x})"
        raise UsageProblem(f"the inventory {path} cannot be read: {found}") from error


def at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageProblem(f"{path}: there is no user {path.parts[0][1:]} here") from error


def with_own_paths(inventory: Inventory, folder: Path) -> Inventory:
    """Relative key paths are relative to the inventory's folder, whatever the current one is."""

    def own(path: str) -> str:
        return str(folder / at_home(Path(path)))

    hosts = tuple(
        replace(host, ssh=replace(host.ssh, key=own(host.ssh.key))) if host.ssh.key else host
        for host in inventory.hosts
    )
    keys = inventory.keys and KeyPair(own(inventory.keys.private), own(inventory.keys.public))
    return replace(inventory, hosts=hosts, keys=keys)


def inventory_flag(env: Env, located: Located) -> str:
    """How our own commands name this inventory; the current cluster's generated one needs no name here. Those
    that are about one cluster need `cluster_flag`."""
    if located.path.parent.name == FOLDER and env.cwd.is_relative_to(located.folder):
        return ""
    path = located.path
    shown = path.relative_to(env.cwd) if path.is_relative_to(env.cwd) else path
    return f" -i {shlex.quote(str(shown))}"


def cluster_flag(env: Env, located: Located) -> str:
    return located.flag or inventory_flag(env, located)


def generate(
    env: Env,
    *,
    hosts: list[str] | None = None,
    local: int | None = None,
    image: str | None = None,
    cluster: str | None = None,
) -> Located:
    """`up --hosts` and `up --local` need no file: one is written into .hvdocker/, so that the verbs after
    them have the same inventory."""
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
    return Located(parse(text, source, ""), path, text)


def _generated(body: object) -> str:
    text = yaml.safe_dump(body, sort_keys=False)
    return _header(text) + text


def _header(body: str) -> str:
    digest = hashlib.sha256(body.encode()).hexdigest()[:12]
    return f"# Written by `hvdocker up` ({digest}); the verbs after it read this.\n"


def _is_untouched(text: str) -> bool:
    """Whether a file in .hvdocker/ is still what `generate` wrote; what a person edited is theirs."""
    header, _, body = text.partition("\n")
    return f"{header}\n" == _header(body)


def _refuse_other(path: Path, is_local: bool, cluster: str) -> None:
    """A cluster that a generated inventory describes would be orphaned by another that takes its place."""
    if not path.is_file():
        return
    try:
        earlier = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        earlier = None
    is_same = isinstance(earlier, dict) and ("local" in earlier) == is_local
    if not is_same or earlier.get("cluster") != cluster:
        raise HvdockerError(
            f"this folder already has a cluster: {path}",
            fix="take it down first (hvdocker down), or work elsewhere",
        )


def point_at(located: Located) -> str | None:
    """Makes this the current cluster of its folder; returns the inventory that was current before, if it
    was another."""
    if located.flag:
        return None
    located.state.mkdir(parents=True, exist_ok=True)
    if located.generated is not None:
        located.path.write_text(located.generated, encoding="utf-8")
    shown = str(
        located.path.relative_to(located.folder)
        if located.path.is_relative_to(located.folder)
        else located.path
    )
    pointer = located.state / "current.json"
    before = _pointed(pointer)
    hosts = {**former_hosts(located), **_hosts(located)}
    draft = pointer.with_suffix(".part")
    draft.write_text(json.dumps({"inventory": shown, "hosts": hosts}) + "\n", encoding="utf-8")
    draft.replace(pointer)
    return str(before) if before and before.resolve() != located.path.resolve() else None


def former_hosts(located: Located) -> dict[str, str]:
    """Hosts that the inventory had at an earlier `up` and has no more: how each was reached, and its name.
    Nobody looks at them now; whatever is on them stays until somebody names them again."""
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
    """Workers of this machine itself are found by label, whatever the inventory says."""
    inventory = located.inventory
    return {} if inventory.is_local else {host.host: host.name for host in inventory.hosts}


def former_note(name: str, reached: str) -> str:
    return (
        f"{name} ({reached}) is not in the inventory any more: if it had a worker, it still has it; "
        "name it there again for hvdocker down to find it"
    )


def forget(located: Located) -> None:
    """After `down`: no current cluster, and a generated inventory is gone too. What a person wrote, fetched
    jobs, and a pointer to another inventory stay."""
    if located.flag:
        return
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
        return _follow(pointer)
    except HvdockerError:
        return None


def _follow(pointer: Path) -> Path:
    try:
        named = json.loads(pointer.read_text(encoding="utf-8"))["inventory"]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise _damaged(pointer) from error
    if not isinstance(named, str) or not named:
        raise _damaged(pointer)
    return pointer.parent.parent / named


def _damaged(pointer: Path) -> HvdockerError:
    remove = shlex.join(("rm", str(pointer)))
    return HvdockerError(f"{pointer} is damaged", fix=f"name an inventory with -i, or: {remove}")


def _default(env: Env) -> Path:
    found = [env.cwd / name for name in DEFAULT_NAMES if (env.cwd / name).is_file()]
    if len(found) > 1:
        raise UsageProblem(
            "there are two inventories here: " + ", ".join(path.name for path in found),
            fix="say which one with -i",
        )
    if not found:
        raise NoCluster(
            "there is no cluster here: no .hvdocker/ in this folder or above, and no inventory.yaml",
            fix="start one: hvdocker up inventory.yaml, or hvdocker up --local 2",
        )
    return found[0]
