"""The verb init: writes a first inventory, with hosts from ~/.ssh/config. Contacts no host."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hvdocker.env import Env
from hvdocker.errors import InventoryError, UsageProblem
from hvdocker.inventory.inventory import Host
from hvdocker.inventory.locate import FOLDER, MOST_BYTES, inventory_path, shown_name
from hvdocker.inventory.menu_choice import parse_menu_choice
from hvdocker.inventory.other_formats.source_file import SourceFile, read_source_file
from hvdocker.inventory.parse import parse, without_lines
from hvdocker.inventory.safe_text import printable, yaml_scalar
from hvdocker.inventory.template import inventory_file
from hvdocker.units import show_bytes

DEFAULT_FILE = Path("inventory.yaml")


@dataclass(frozen=True)
class SshConfigHost:
    """A host that a Host line of ~/.ssh/config names.

    `about` is shown beside it in the list from which the user chooses: its HostName, Port, User and ProxyJump, such as
    `10.0.0.5:2222, user kim, via bastion`. It is empty if none of these is set."""

    name: str
    about: str = ""


@dataclass(frozen=True)
class InitRequest:
    """The arguments of the verb `init`. `path` is the file to write, `hosts` are the hosts that the user named.

    `takes_all` adds all hosts of ~/.ssh/config that an inventory can contain. `source` is a file of another tool with
    hosts (`--from`), such as a hostfile. `is_forced` allows overwriting an existing file."""

    path: Path = DEFAULT_FILE
    hosts: tuple[str, ...] = ()
    takes_all: bool = False
    is_forced: bool = False
    source: Path | None = None


@dataclass(frozen=True)
class InitReport:
    """The result of the verb `init`: the file that was written, and its hosts.

    `left_out` are hosts of ~/.ssh/config whose names an inventory cannot contain. `notes` say what of the file behind
    `--from` is not in the inventory. `ignores_state` is False if git would track our .hvdocker/ folder."""

    path: Path
    hosts: tuple[str, ...]
    left_out: tuple[str, ...]
    ignores_state: bool
    notes: tuple[str, ...] = ()


# Shows the hosts of ~/.ssh/config and returns the names that the user chose, perhaps none.
HostChooser = Callable[[Sequence[SshConfigHost]], list[str]]


def init(env: Env, request: InitRequest, choose: HostChooser | None = None) -> InitReport:
    """Write a first inventory file and report what was written.

    The hosts are those of the request, plus all of ~/.ssh/config with `takes_all`. If the request has neither, `choose`
    is called with the hosts of ~/.ssh/config and returns the names that the user chose. With `choose` None the user is
    not asked. Without hosts, the file has only commented examples of hosts. Raise UsageProblem if the file exists
    (unless `is_forced`), is the file to read the hosts from, or cannot be written, or if `takes_all` finds no hosts.
    Raise InventoryError if a host is not valid in an inventory."""
    path = inventory_path(env, request.path)
    source_path = inventory_path(env, request.source) if request.source else None
    if source_path:
        _check_is_other_file(path, source_path)
    _check_target_path(path, request.is_forced)
    offers, left_out = _ssh_config_hosts()
    known = [offer.name for offer in offers]
    hosts = list(request.hosts)
    source = read_source_file(source_path) if source_path else SourceFile()
    taken = [host.yaml() for host in source.hosts]
    if source_path:
        _check_entries(taken, shown_name(source_path), [printable(host.name or host.host) for host in source.hosts])
    if request.takes_all:
        if not known:
            raise UsageProblem("~/.ssh/config names no hosts", fix="name them: hvdocker init --hosts a,user@b")
        hosts = list(dict.fromkeys((*hosts, *known)))
    elif not hosts and not taken and choose:
        hosts = choose(offers)
    if hosts:
        check_host_names(hosts)
    entries = [*taken, *map(yaml_scalar, _not_among(hosts, taken))]
    _check_entries(entries, "the list of hosts")
    text = inventory_file(path.name, entries, known)
    if len(text.encode()) > MOST_BYTES:
        raise UsageProblem(f"{len(entries):,} hosts are too many: an inventory has at most {show_bytes(MOST_BYTES)}")
    _write(path, text, request.is_forced)
    return InitReport(path, tuple(entries), left_out, _is_state_ignored(path.parent), source.notes)


def parse_host_choice(text: str, offers: Sequence[SshConfigHost]) -> list[str]:
    """Return the hosts that the user chose from a numbered list of `offers`. `text` is what the user typed: numbers,
    ranges, `all` or names, as in `1,3-4`. Empty text gives no hosts.

    Raise UsageProblem for a number that is not in the list, and InventoryError if a name is not valid in an
    inventory."""
    hosts = parse_menu_choice(text, [offer.name for offer in offers])
    if hosts:
        check_host_names(hosts)
    return hosts


def _check_is_other_file(path: Path, source: Path) -> None:
    """Raise UsageProblem if the file to write is the file to read the hosts from, also by another name of it."""
    with contextlib.suppress(OSError):
        if path.samefile(source):
            raise UsageProblem(
                f"{source} would be written over: it is the file behind --from too",
                fix=f"name another file to write: hvdocker init cluster.yaml --from {shlex.quote(str(source))}",
            )


def _not_among(hosts: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Return those of `hosts`, as `--hosts` names them, that are not among the entries. A host is among them if it has
    the name of an entry, or the same address and port, and no other user."""
    taken = _parsed(entries)
    users = {(host.host, host.ssh.port or 22): host.ssh.user for host in taken}
    users |= {(host.name, 22): host.ssh.user for host in taken}
    own = _parsed(list(map(yaml_scalar, hosts)))
    marks = [(host.ssh.user, (host.host, host.ssh.port or 22)) for host in own]
    return [
        host
        for host, (user, mark) in zip(hosts, marks, strict=True)
        if mark not in users or user not in (None, users[mark])
    ]


def _parsed(entries: Sequence[str]) -> tuple[Host, ...]:
    return parse(inventory_file("inventory.yaml", entries), "", "new").hosts if entries else ()


def check_host_names(hosts: Sequence[str]) -> None:
    """Raise InventoryError if one of these hosts is not valid in an inventory.

    The hosts are checked by parsing the file that `init` would write. The user has not seen that file, so the
    problems are reported without line numbers."""
    _check_entries(tuple(map(yaml_scalar, hosts)), "the list of hosts")


def _check_entries(entries: Sequence[str], source: str, names: Sequence[str] = ()) -> None:
    try:
        _parsed(entries)
    except InventoryError as error:
        raise without_lines(error, source, names) from error


def _ssh_config_hosts() -> tuple[list[SshConfigHost], tuple[str, ...]]:
    from hvdocker.inventory.ssh_config import config as ssh_config

    config = ssh_config.load()
    good = [name for name in config.hosts if _is_nameable(name)]
    left_out = tuple(printable(name) for name in config.hosts if name not in good)
    said = {name: config.lookup(name) for name in good}
    offers = [SshConfigHost(name, _describe_host(name, one)) for name, one in said.items() if not _is_code_server(one)]
    return offers, left_out


def _is_nameable(name: str) -> bool:
    try:
        check_host_names([name])
    except UsageProblem:
        return False
    return True


def _describe_host(name: str, said: object) -> str:
    values = said if isinstance(said, dict) else {}
    address, port = str(values.get("hostname", name)), str(values.get("port", "22"))
    reached = f"{'' if address == name else address}{'' if port == '22' else f':{port}'}"
    jump = values.get("proxyjump")
    parts = [f"user {values['user']}" if "user" in values else "", f"via {jump}" if jump else ""]
    return printable(", ".join(part for part in (reached, *parts) if part))


def _is_code_server(said: object) -> bool:
    """Whether a host of ~/.ssh/config is a server of git repositories, on which nobody trains.

    `said` has the host's options in ~/.ssh/config."""
    return isinstance(said, dict) and said.get("user") == "git"


def _check_target_path(path: Path, is_forced: bool) -> None:
    if not path.parent.is_dir():
        raise UsageProblem(
            f"there is no folder {path.parent}", fix=f"make it first: mkdir -p {shlex.quote(str(path.parent))}"
        )
    if path.is_dir():
        raise UsageProblem(
            f"{path} is a folder", fix=f"name a file in it: hvdocker init {shlex.quote(str(path / 'inventory.yaml'))}"
        )
    if path.exists() and not is_forced:
        raise _exists_error(path)


def _exists_error(path: Path) -> UsageProblem:
    return UsageProblem(f"{path} is already there", fix="write another file, or over this one with --force")


def _write(path: Path, text: str, is_forced: bool) -> None:
    """Write the text to the file `path`. With `is_forced` an existing file is replaced.

    Without it, raise UsageProblem if the file exists, even if another process created it only a moment ago. Raise
    UsageProblem also if the file cannot be written. The file is written completely or not at all; only a new file on a
    file system without hard links may stay incomplete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        if is_forced:
            draft.replace(path)
        else:
            _write_new_file(draft, path, text)
    except FileExistsError as error:
        raise _exists_error(path) from error
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _write_new_file(draft: Path, path: Path, text: str) -> None:
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)


def _is_state_ignored(folder: Path) -> bool:
    """Return whether git will not track .hvdocker/ in `folder`.

    That is so if a .gitignore in the folder or above it names .hvdocker, or if the folder is not in a git
    repository."""
    for above in (folder, *folder.parents):
        ignored = above / ".gitignore"
        if ignored.is_file() and FOLDER in ignored.read_text(encoding="utf-8", errors="replace"):
            return True
        if (above / ".git").exists():
            return False
    return True
