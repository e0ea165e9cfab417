"""The record of a host lock: who holds the lock, since when, and for which verb. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hvdocker.units import show_seconds

LOCK_DIR = "/tmp/hvdocker.lock"
# A lock that was not renewed for this long, by the host's own clock, may be taken over.
STALE_S = 60
# The token of a lock file that hvdocker did not write. The scripts on the host use the same value.
NO_TOKEN = "0"
_MAX_TEXT = 100


@dataclass(frozen=True)
class Claim:
    """What a client (an hvdocker process) writes about itself into a lock or ticket.

    `token` is a random text that identifies the client. It is the same on all hosts, so a client does not block itself
    on a machine that the inventory names twice. `owner` is the owner in the labels of the client's containers.
    `machine` is the controller's host name and `user` the login name there. `verb` is the command, such as `up`, and
    `cluster` the cluster that it changes. `process` identifies the process, as text from `own_process_id`: only a
    client on the same machine can tell from it whether the process has ended."""

    token: str
    owner: str
    machine: str
    user: str
    verb: str
    cluster: str
    # The process that holds the lock (see process_id.py). Only its own machine can check it.
    process: str = ""

    def as_json(self) -> str:
        """Return all fields but the token as JSON.

        The script on the host adds the token and the host's own time."""
        rest = {name: value for name, value in asdict(self).items() if name != "token"}
        return json.dumps(rest)

    @property
    def who(self) -> str:
        return f"{self.owner}@{self.machine}"

    @property
    def doing(self) -> str:
        return f"`{self.verb}` of cluster {self.cluster}"


@dataclass(frozen=True)
class Holder(Claim):
    """A claim that was read from a host: the client (hvdocker process) that holds the lock.

    `age_s` is the time since the holder last renewed the lock. `held_s` is the time since the lock was taken.
    Both are measured by the host's clock."""

    age_s: int = 0
    held_s: int = 0

    @property
    def is_stale(self) -> bool:
        return self.age_s > STALE_S

    @property
    def is_known(self) -> bool:
        """Whether the holder is known.

        It is not known while a lock is being released, or if hvdocker did not write the lock file."""
        return self.token != NO_TOKEN

    @property
    def since(self) -> str:
        return f"{self.held_s} s" if self.held_s < 60 else show_seconds(self.held_s)

    def as_dict(self) -> Mapping[str, object]:
        """Return the fields for `lock status --json`, without token and process."""
        hidden = ("token", "process")
        shown = {name: value for name, value in asdict(self).items() if name not in hidden}
        return {**shown, "stale": self.is_stale}


def read_holder(line: str, age_s: int, now: int) -> Holder:
    """Return the holder that `line` describes. `line` is the content of a lock file or ticket.

    Any user of the host may have written the file. So missing values and unprintable characters become `?`, and no
    text can control the terminal. If the line has no valid token, `is_known` of the holder is False. `age_s` is the
    time since the file was renewed. `now` is the host's clock in Unix seconds."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    record: Mapping[str, Any] = found if isinstance(found, dict) else {}  # Any: parsed JSON
    since, token = record.get("since"), text_field(record, "token")
    return Holder(
        token=token if token and set(token) <= set("0123456789abcdef") else NO_TOKEN,
        owner=text_field(record, "owner"),
        machine=text_field(record, "machine"),
        user=text_field(record, "user"),
        verb=text_field(record, "verb"),
        cluster=text_field(record, "cluster"),
        process=text_field(record, "process"),
        age_s=max(0, age_s),
        held_s=max(0, now - since) if type(since) is int else 0,
    )


def text_field(record: Mapping[str, Any], name: str) -> str:
    """Return the text `name` of a lock or ticket, or `?` if it is missing or is not text.

    `record` is the parsed JSON of the lock or ticket. Its values are `Any` because they come from parsed JSON. The text
    is cut to _MAX_TEXT characters, and unprintable characters become `?`."""
    value = record.get(name)
    text = value if isinstance(value, str) else ""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_MAX_TEXT]) or "?"
