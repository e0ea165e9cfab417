"""Locates the inventory of a verb. Four places are looked at, and the first that has an inventory is used.

First comes the file that the command line names, then the file that the variable HVDOCKER_INVENTORY names. Next is the
file that the nearest .hvdocker/current.json names, in the current folder or above it. Last are inventory.yaml and
inventory.yml in the current folder; it is an error if both exist."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, InventoryError, NoCluster, UsageProblem
from hvdocker.inventory.fields import INVENTORY_FIELD
from hvdocker.inventory.inventory import Inventory, KeyPair
from hvdocker.inventory.other_formats import other_format
from hvdocker.inventory.parse import parse
from hvdocker.units import show_bytes

FOLDER = ".hvdocker"
DEFAULT_NAMES = ("inventory.yaml", "inventory.yml")
MOST_BYTES = 1 << 20
PIPE = "the inventory from a pipe"


@dataclass(frozen=True)
class Located:
    """An inventory and its file. `state` is the .hvdocker/ folder beside the file, or the one that contains it.

    `generated` is the text of an inventory that was made from flags (`up --hosts` or `up --local`) and is not written
    to `path` yet; it is None for an inventory that was read from a file. `flag` is empty unless `--cluster` replaced
    the cluster's name. Then it has the flags (` -i FILE --cluster NAME`) that another command about this cluster
    needs."""

    inventory: Inventory
    path: Path
    generated: str | None = None
    flag: str = ""

    @property
    def folder(self) -> Path:
        """The folder that contains .hvdocker/. Relative paths in the inventory start from it."""
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
    """An inventory file, and why it was chosen, as text for the user such as `named on the command line`."""

    path: Path
    why: str


def locate(env: Env, explicit: Path | None, cluster: str | None = None) -> Located:
    """Choose and read the inventory for a verb.

    `explicit` is the file that the user named. With None, the file is looked for in HVDOCKER_INVENTORY, .hvdocker/ and
    the current folder. `cluster` is the value of `--cluster`, which replaces the cluster name in the inventory; None
    keeps it. Raise NoCluster if the user named no file and none is found, and UsageProblem if the chosen file is
    missing or wrong."""
    return with_cluster_name(env, read_inventory(env, choose(env, explicit).path), cluster)


def locate_past(env: Env, explicit: Path | None, cluster: str | None = None) -> Located:
    """Return the inventory for a verb that reads past jobs, such as `logs`.

    If no inventory is found, return an inventory without hosts for the nearest folder whose .hvdocker/ has jobs; its
    cluster name is made from the name of the folder. The reason is that fetched jobs stay after `down` has removed an
    inventory that `up --hosts` generated. `explicit` is the file that the user named, None to look for one. `cluster`
    is the value of `--cluster`, None if it is not given. Raise NoCluster if there is no folder with jobs either."""
    try:
        return locate(env, explicit, cluster)
    except NoCluster:
        folders = (folder / FOLDER for folder in (env.cwd, *env.cwd.parents))
        found = next((folder for folder in folders if (folder / "jobs").is_dir()), None)
        if found is None:
            raise
        return Located(Inventory(names.as_cluster_name(found.parent.name), ()), found / "inventory.yaml")


def with_cluster_name(env: Env, located: Located, cluster: str | None) -> Located:
    """Return the same inventory with `cluster` (the value of `--cluster`) as its cluster name.

    The inventory's `port:` is removed, because it belongs to the cluster that the inventory names. If `cluster` is None
    or already the name, return `located` unchanged. Raise UsageProblem if `cluster` is not a valid name.

    A cluster that is named in this way is never recorded as the current cluster in .hvdocker/, so each command about it
    needs `--cluster`."""
    if not cluster or cluster == located.inventory.cluster:
        return located
    check_cluster_name(cluster)
    flag = f"{inventory_flag(env, located)} --cluster {cluster}"
    # The port in the inventory belongs to the cluster that the inventory names.
    return replace(located, inventory=replace(located.inventory, cluster=cluster, port=None), flag=flag)


def with_image(located: Located, image: str) -> Located:
    """Return the inventory with `image`, the value of `--image`, in place of its own image.

    Return `located` unchanged if `image` is empty. Raise UsageProblem if it is not the name of an image."""
    if not image:
        return located
    field = next(field for field in INVENTORY_FIELD.fields if field.name == "image")
    if not field.matches(image):
        raise UsageProblem(f"--image {field.should}, got {image!r}")
    tag = names.image_tag(image)
    inventory = replace(located.inventory, image=tag, has_named_image=True, forced_image=tag)
    return replace(located, inventory=inventory)


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
            return Choice(read_pointer(pointer), f"the current one, says {pointer}")
    return Choice(_default(env), "found in this folder")


def read_inventory(env: Env, path: Path) -> Located:
    path = inventory_path(env, path)
    return inventory_from_text(env, read_text(path), path)


def inventory_path(env: Env, path: Path) -> Path:
    """Return the absolute path of an inventory file, with symbolic links resolved.

    A pipe, such as that of the shell's `<(…)`, keeps its path, because the path to which it resolves is no file."""
    path = env.cwd / at_home(path)
    return path if path.is_fifo() else path.resolve()


def shown_name(path: Path) -> str:
    """Return how a message names the file: without folders. A pipe has no name that says anything to the user."""
    return PIPE if path.is_fifo() else path.name


def inventory_from_text(env: Env, text: str, path: Path) -> Located:
    """Return the inventory in `text`, which was read from `path`.

    Relative paths in it start from the folder of the file, or from the current folder if it was read from a pipe. Raise
    InventoryError if the inventory has problems, and UsageProblem if the text is a file of another tool, such as a
    hostfile."""
    folder = env.cwd if path.is_fifo() else path.parent.parent if path.parent.name == FOLDER else path.parent
    try:
        inventory = parse(text, shown_name(path), names.as_cluster_name(folder.name))
    except InventoryError as error:
        if other := other_format(text, path.name):
            if path.is_fifo():
                what = f"{PIPE} looks like {other.name}"
                raise UsageProblem(what, fix="write it to a file, and name that: hvdocker init --from FILE") from error
            # `init` writes inventory.yaml, but not over the file that it reads.
            target = ("cluster.yaml",) if path.name == DEFAULT_NAMES[0] else ()
            command = shlex.join(("hvdocker", "init", *target, "--from", str(path)))
            what = f"{path} looks like {other.name}, not an inventory"
            raise UsageProblem(what, fix=f"write one: {command}") from error
        raise
    return Located(with_own_paths(inventory, folder), path)


def read_text(path: Path) -> str:
    """Return the text of an inventory file.

    Raise UsageProblem if the file is missing, cannot be read, is not UTF-8 or has more than MOST_BYTES. Without this
    limit, reading a device or a pipe might never end."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise UsageProblem(f"there is no inventory {path}", fix=_instead_of(path)) from error
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


def _instead_of(path: Path) -> str:
    """Return advice for the user who named the inventory `path`, which does not exist.

    The advice names an inventory beside it, or suggests that the word was meant as a list of hosts, or to write an
    inventory. A closed pipe gets advice of its own."""
    if path.is_relative_to("/dev/fd") or path.is_relative_to("/proc"):
        return "the pipe of <(…) is closed here, as with sudo: write the inventory to a file"
    others = [name for name in DEFAULT_NAMES if name != path.name and (path.parent / name).is_file()]
    if path.suffix in (".yaml", ".yml") and others:
        return f"there is {others[0]} beside it"
    if not path.suffix and path.parent.is_dir():
        return f"if these are hosts: hvdocker up --hosts {shlex.quote(path.name)}; else write one: hvdocker init"
    return "check the path, or write one: hvdocker init"


def at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageProblem(f"{path}: there is no user {path.parts[0][1:]} here") from error


def with_own_paths(inventory: Inventory, folder: Path) -> Inventory:
    """Return the inventory with absolute paths of SSH keys and of the key pair in `keys:`.

    Relative paths start from `folder`, the inventory's folder, and not from the current folder. `~` is the user's
    home."""

    def own(path: str) -> str:
        return str(folder / at_home(Path(path)))

    hosts = tuple(
        replace(host, ssh=replace(host.ssh, key=own(host.ssh.key))) if host.ssh.key else host
        for host in inventory.hosts
    )
    keys = inventory.keys and KeyPair(own(inventory.keys.private), own(inventory.keys.public))
    return replace(inventory, hosts=hosts, keys=keys)


def inventory_flag(env: Env, located: Located) -> str:
    """Return the flag that names this inventory (` -i FILE`, with a space in front), for commands that messages
    suggest.

    Return empty text for a generated inventory in .hvdocker/ of the current folder or above, which is found without a
    flag. For a command about one cluster use `cluster_flag`: if the user gave `--cluster`, it returns `located.flag`,
    which has `--cluster` too."""
    if located.path.parent.name == FOLDER and env.cwd.is_relative_to(located.folder):
        return ""
    path = located.path
    shown = path.relative_to(env.cwd) if path.is_relative_to(env.cwd) else path
    return f" -i {shlex.quote(str(shown))}"


def cluster_flag(env: Env, located: Located) -> str:
    return located.flag or inventory_flag(env, located)


def read_pointer(pointer: Path) -> Path:
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
            "there are two inventories here: " + ", ".join(path.name for path in found), fix="say which one with -i"
        )
    if not found:
        raise NoCluster(
            "there is no cluster here: no .hvdocker/ in this folder or above, and no inventory.yaml",
            fix="write an inventory: hvdocker init; or start workers on this machine: hvdocker up --local 2",
        )
    return found[0]
