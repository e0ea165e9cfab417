"""The table of all inventory keys: kind, range, pattern, help text and default of each. Pure.

`parse` checks values with this table, `schema` is generated from it, and the file that `init` writes is explained with
it. So these three always agree. A schema validator is not used: it would be a dependency, and its messages have no line
numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hvdocker import names
from hvdocker.inventory.safe_text import has_invisible_characters
from hvdocker.launchers import NAMES as LAUNCHER_NAMES
from hvdocker.protocol.resilience import RULE_THEN
from hvdocker.units import MIB, SIZE

MOST_TEXT = 4096
MOST_PORT = 65535
MOST_HANDSHAKE_S = 3600
MOST_LOCAL = 64
MOST_SLOTS = 4096
MOST_CPUS = 1_000_000
# Docker refuses containers with less memory.
LEAST_MEMORY = 6 * MIB
LEAST_SHM = MIB


def is_safe_text(text: str) -> bool:
    """Return whether the text may be written into a file or a command: it is not too long and has no invisible
    characters.

    Values of environment variables are not checked with this."""
    return len(text) <= MOST_TEXT and not has_invisible_characters(text)


class FieldKind(Enum):
    TEXT = "text"
    WHOLE = "a whole number"
    NUMBER = "a number"
    SIZE = "a size"
    GROUP = "settings"
    VALUES = "names and values"
    MOUNTS = "mounts"
    RULES = "rules"
    HOSTS = "hosts"


@dataclass(frozen=True)
class Field:
    """One key of an inventory. `help` explains the key to the user.

    `default` describes in words what applies without the key. `example` is YAML. `pattern` is a regular expression for
    kind TEXT. `should` is the problem to report if text does not match the pattern (`should be …`). `low` and `high`
    are the bounds of a number: included for the kind WHOLE (integers), excluded for the kind NUMBER. If `high` is None,
    there is no upper bound. For the kind SIZE, `low` is the smallest number of bytes. `fields` are the keys inside a
    GROUP or a list entry."""

    name: str
    kind: FieldKind
    help: str
    example: str
    default: str = ""
    pattern: str = ""
    should: str = ""
    low: int = 0
    high: int | None = None
    fields: tuple[Field, ...] = ()
    is_required: bool = False

    def matches(self, text: str) -> bool:
        """Return whether the text is safe (`is_safe_text`) and the whole text matches the pattern."""
        return is_safe_text(text) and re.fullmatch(self.pattern, text) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys inside this group or list entry."""
        return tuple(field.name for field in self.fields)


_LINE_CHARACTER = r"[^\x00-\x1f\x7f-\x9f]"
# Excludes the characters that ssh itself refuses in a login: a shell would interpret them, for example in a
# ProxyCommand.
_LOGIN = r"""(?!-)[^\s,\x00-\x1f\x7f-\x9f'`";&<>|(){}]+(?<!\\)"""
_HOST = r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*"
_JUMP_HOST = rf"(?:{_LOGIN}@)?[A-Za-z0-9_:\[][A-Za-z0-9_.:%\[\]-]*"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"

HOST_PATTERN = rf"(?:{_LOGIN}@)?(?:{_HOST}|\[{_HOST}\](?::[0-9]{{1,5}})?)"
NAME_PATTERN = _NAME
ENV_NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*"
ENV_VALUE_PATTERN = r"[^\x00]*"
MOUNT_PATTERN = r"/[^:\x00-\x1f\x7f]*:/[^:\x00-\x1f\x7f]*(?::r[ow])?"
EXTENSION_KEY_PATTERN = r"x-"

_PATH = rf"{_LINE_CHARACTER}+"
_PATH_SHOULD = "should be a path on one line"


def _port_field(help: str, example: str, default: str) -> Field:
    return Field("port", FieldKind.WHOLE, help, example, default, low=1, high=MOST_PORT)


SSH_FIELDS = (
    Field(
        "user",
        FieldKind.TEXT,
        "The user to log in as.",
        "ubuntu",
        "as ~/.ssh/config says, else your own user name",
        _LOGIN,
        "should be a user name, without blanks and characters that a shell reads",
    ),
    _port_field("The port of the hosts' own sshd.", "22", "as ~/.ssh/config says, else 22"),
    Field(
        "key",
        FieldKind.TEXT,
        "The private key to log in with; a path, relative to the inventory's folder.",
        "~/.ssh/id_ed25519",
        "the agent's keys, those of ~/.ssh/config, then the usual files in ~/.ssh",
        _PATH,
        _PATH_SHOULD,
    ),
    Field(
        "jump",
        FieldKind.TEXT,
        "A host to go through, or several with commas: user@host:port.",
        "bastion",
        "as ~/.ssh/config says, else none",
        rf"{_JUMP_HOST}(?:,[ ]?{_JUMP_HOST})*",
        "should be a host to jump through such as user@bastion:22",
    ),
    Field(
        "handshake_timeout",
        FieldKind.WHOLE,
        "Seconds that a host may take for the SSH handshake; a busy host takes long.",
        "60",
        "30",
        low=1,
        high=MOST_HANDSHAKE_S,
    ),
)

HOST_FIELDS = (
    Field(
        "host",
        FieldKind.TEXT,
        "What ssh calls it: a name, an address, or a Host of ~/.ssh/config; perhaps with user@ in front.",
        "gpu-a",
        pattern=HOST_PATTERN,
        should="should be a host name or an address",
        is_required=True,
    ),
    Field(
        "name",
        FieldKind.TEXT,
        "What hvdocker calls it.",
        "a",
        "what stands in `host:`",
        NAME_PATTERN,
        "should be letters, digits, '-', '_' or '.'",
    ),
    Field(
        "address",
        FieldKind.TEXT,
        "Its IP address on the training network.",
        "10.0.0.12",
        "its address in `network:`, else the one it is reached by",
        r"[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?",
        "should be an IP address (the training address)",
    ),
    Field(
        "slots",
        FieldKind.WHOLE,
        "How many ranks fit; on a host with GPUs, the most of them that are taken.",
        "4",
        "its GPUs, else 1",
        low=1,
        high=MOST_SLOTS,
    ),
    Field(
        "ssh",
        FieldKind.GROUP,
        "How to log in to this host, where it differs.",
        "{user: root, port: 2222}",
        "the general `ssh:`",
        fields=SSH_FIELDS,
    ),
)

KEYS_FIELDS = tuple(
    Field(name, FieldKind.TEXT, f"The {name} half; a path.", example, "", _PATH, _PATH_SHOULD, is_required=True)
    for name, example in (("private", "keys/mine"), ("public", "keys/mine.pub"))
)

GPUS_FIELDS = (
    Field(
        "busy",
        FieldKind.SIZE,
        "A GPU counts as used where processes that are not ours have so much of its memory.",
        "500MB",
        "500 MB",
    ),
)

RULE_FIELDS = (
    Field(
        "match",
        FieldKind.TEXT,
        "A regular expression, searched for in every line that a rank writes.",
        "'uncorrectable ECC error'",
        pattern=rf"{_LINE_CHARACTER}+",
        should="should be a regular expression on one line",
        is_required=True,
    ),
    Field(
        "then",
        FieldKind.TEXT,
        "What follows: drop (the rank's host takes no further part) or stop (the job is not run again).",
        "drop",
        pattern="|".join(RULE_THEN),
        should="should be drop (the host) or stop (running the job again)",
        is_required=True,
    ),
)

TOP_FIELDS = (
    Field(
        "cluster",
        FieldKind.TEXT,
        "The cluster's name.",
        "lab",
        "the inventory's folder name",
        names.CLUSTER_NAME_PATTERN,
        names.CLUSTER_NAME_RULE,
    ),
    Field(
        "image",
        FieldKind.TEXT,
        "The training image. One of ours is built where it is nowhere; hosts that lack it are sent it.",
        names.DEFAULT_IMAGE,
        f"{names.GPU_IMAGE} where hosts have GPUs, else {names.DEFAULT_IMAGE}",
        r"[A-Za-z0-9][A-Za-z0-9_./:@-]*",
        "should be an image such as doc-hvd:cpu",
    ),
    Field(
        "launcher",
        FieldKind.TEXT,
        f"How ranks are started: {', '.join(LAUNCHER_NAMES)}.",
        "torch",
        "what the image is made for",
        "|".join(LAUNCHER_NAMES),
        f"should be a launcher: {', '.join(LAUNCHER_NAMES)}",
    ),
    _port_field(
        "The port of the workers' sshd, the same on every host.",
        str(names.DEFAULT_PORT),
        f"the first port from {names.DEFAULT_PORT} up that is free on every host",
    ),
    Field(
        "network",
        FieldKind.TEXT,
        "The training network: each host's address in it is used between the ranks.",
        "10.0.0.0/24",
        "the address each host is reached by",
        r"[0-9A-Fa-f:.]+(?:/[0-9.]+)?",
        "should be a network such as 10.0.0.0/24",
    ),
    Field(
        "ssh",
        FieldKind.GROUP,
        "How to log in, for all hosts; ~/.ssh/config and a running agent are honoured anyway.",
        "{user: ubuntu, port: 22, key: ~/.ssh/id_ed25519, jump: bastion}",
        "as ~/.ssh/config says",
        fields=SSH_FIELDS,
    ),
    Field(
        "env",
        FieldKind.VALUES,
        "The environment of every rank. Not for secrets: the file may be shared.",
        "{NCCL_DEBUG: WARN}",
        "nothing",
    ),
    Field(
        "mounts",
        FieldKind.MOUNTS,
        "Folders of the hosts in every container: /on/host:/in/container, with :ro read-only. "
        "A missing one is an error.",
        '["/mnt/datasets:/data:ro"]',
        "none",
    ),
    Field(
        "shm", FieldKind.SIZE, "Shared memory of each container.", "16GB", "half of RAM, at most 16 GB", low=LEAST_SHM
    ),
    Field("memory", FieldKind.SIZE, "At most so much memory for each container.", "64GB", "no limit", low=LEAST_MEMORY),
    Field("cpus", FieldKind.NUMBER, "At most so many CPUs for each container.", "16", "no limit", high=MOST_CPUS),
    Field(
        "user",
        FieldKind.TEXT,
        "Who the containers run as: host (the SSH user's uid and gid), root, or uid:gid.",
        "host",
        "host",
        r"host|root|[0-9]{1,10}:[0-9]{1,10}",
        "should be host, root or uid:gid",
    ),
    Field(
        "gpus",
        FieldKind.GROUP,
        "When a GPU counts as free.",
        "{busy: 500MB}",
        "where processes that are not ours have less than 500 MB of it",
        fields=GPUS_FIELDS,
    ),
    Field(
        "keys",
        FieldKind.GROUP,
        "A key pair of your own for use inside the cluster; paths, relative to the inventory's folder.",
        "{private: keys/mine, public: keys/mine.pub}",
        "a fresh pair per cluster",
        fields=KEYS_FIELDS,
    ),
    Field(
        "registry",
        FieldKind.TEXT,
        "A registry that hosts pull the image from.",
        "registry.lab:5000/team",
        "hvdocker sends images itself",
        r"[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:/[a-z0-9._-]+)*",
        "should be a registry such as registry.lab:5000 or registry.lab:5000/team, without https://",
    ),
    Field(
        "rules",
        FieldKind.RULES,
        "What lines of a job's output mean: drop leaves the host that said it out when the job is run again, "
        "stop runs it no more (--restarts, --min-np).",
        "[{match: 'uncorrectable ECC error', then: drop}]",
        "none",
        fields=RULE_FIELDS,
    ),
    Field(
        "hosts",
        FieldKind.HOSTS,
        "The hosts: each a name or an address, or a mapping with more about it.",
        "[gpu-a, {host: gpu-b, slots: 4}]",
        fields=HOST_FIELDS,
    ),
    Field(
        "local",
        FieldKind.WHOLE,
        "Instead of `hosts:`, that many workers on this machine's own engine.",
        "2",
        low=1,
        high=MOST_LOCAL,
    ),
)

INVENTORY_FIELD = Field("inventory", FieldKind.GROUP, "An hvdocker inventory.", "", fields=TOP_FIELDS)
SIZE_PATTERN = SIZE
