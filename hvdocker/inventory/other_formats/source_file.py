"""Reads the file that `init --from` names: a hostfile, an Ansible inventory or a configuration of OpenSSH."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hvdocker.errors import UsageProblem
from hvdocker.inventory.locate import read_text
from hvdocker.inventory.other_formats import explain_no_hosts, other_format
from hvdocker.inventory.other_formats.duplicates import without_duplicates
from hvdocker.inventory.other_formats.host_entry import HostEntry
from hvdocker.inventory.safe_text import printable, shortened

_SSH_HOST_LINE = re.compile(r"^[ \t]*host(?:[ \t]+|[ \t]*=[ \t]*)\S", re.IGNORECASE | re.MULTILINE)
# Keywords of OpenSSH that an inventory has a key for.
_CARRIED = {"hostname", "user", "port", "identityfile", "proxyjump"}
_JUMP = re.compile(r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?P<name>[^@:]+)(?::(?P<port>[0-9]+))?")
_MOST_LINE = 100
_WANTED = "--from reads a hostfile (gpu-a slots=4 in each line), an Ansible inventory or a file like ~/.ssh/config"


@dataclass(frozen=True)
class SourceFile:
    """The hosts of the file behind `--from`, and notes about what of the file an inventory does not get."""

    hosts: tuple[HostEntry, ...] = ()
    notes: tuple[str, ...] = ()


def read_source_file(path: Path) -> SourceFile:
    """Return the hosts of a file of another tool. Raise UsageProblem if the file is missing, if its format is not
    known, or if it has no hosts."""
    if not path.exists():
        raise UsageProblem(f"there is no file {path}", fix="check the path behind --from")
    text = read_text(path)
    if found := other_format(text, path.name):
        source = SourceFile(found.hosts, found.notes)
    elif _SSH_HOST_LINE.search(text):
        source = _ssh_config_hosts(path, text)
    else:
        raise _unknown_format(path, text)
    if not source.hosts:
        raise UsageProblem(f"{path} has no host that an inventory can have", lines=source.notes)
    return source


def _unknown_format(path: Path, text: str) -> UsageProblem:
    why = explain_no_hosts(text, path.name)
    if why.kind:
        return UsageProblem(f"{path} is {why.kind}, not a list of hosts", fix=_WANTED)
    lines = [f"no host: {shortened(printable(why.line), _MOST_LINE)}"] if why.line else ["it has no hosts"]
    return UsageProblem(f"{path} is neither a hostfile nor an Ansible inventory", lines=lines, fix=_WANTED)


def _ssh_config_hosts(path: Path, text: str) -> SourceFile:
    """Return the hosts of the configuration of OpenSSH in `text`, which was read from `path`: a pipe cannot be read
    again. Of ~/.ssh/config only the names are taken, because hvdocker reads that file itself."""
    from hvdocker.inventory.ssh_config.config import USER_CONFIG, SshConfig
    from hvdocker.inventory.ssh_config.lines import SshConfigSource

    config = SshConfig(SshConfigSource(path.parent, Path.home()).parse(text, path))
    own = Path(USER_CONFIG).expanduser()
    if own.exists() and own.samefile(path):
        return SourceFile(tuple(map(HostEntry, config.hosts)))
    notes: dict[str, None] = {}
    said = {name: config.lookup(name) for name in config.hosts}
    hosts, duplicates = without_duplicates([_ssh_entry(name, said, notes) for name in said])
    return SourceFile(tuple(hosts), (*notes, *duplicates))


def _ssh_entry(name: str, said: Mapping[str, Mapping[str, object]], notes: dict[str, None]) -> HostEntry:
    values = said[name]
    left_out = [keyword for keyword in values if keyword not in _CARRIED]
    notes |= {f"{keyword} is left out; ~/.ssh/config may say it": None for keyword in left_out}
    host, keys = str(values.get("hostname", name)), values.get("identityfile")
    if isinstance(keys, list) and keys[1:]:
        notes[f"of the keys of {name} only the first is taken: {keys[0]}"] = None
    return HostEntry(
        host,
        name if name != host else "",
        user=str(values.get("user", "")),
        port=str(values.get("port", "")),
        key=str(keys[0]) if isinstance(keys, list) else "",
        jump=",".join(_jumps(str(values.get("proxyjump", "")), said)),
    )


def _jumps(jump: str, said: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Yield the jump hosts. One that the file names is replaced by its address, because ssh on this machine does not
    know the name. What ProxyJump says itself, as in `kim@bastion:22`, has precedence."""
    for one in filter(None, jump.split(",")):
        found = _JUMP.fullmatch(one.strip())
        if not found or not (values := said.get(found["name"])):
            yield one
            continue
        user, port = found["user"] or values.get("user"), found["port"] or values.get("port")
        address = str(values.get("hostname", found["name"]))
        shown = f"[{address}]" if ":" in address else address
        yield f"{f'{user}@' if user else ''}{shown}{f':{port}' if port else ''}"
