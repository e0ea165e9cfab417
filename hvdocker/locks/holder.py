"""Who holds a host, since when, doing what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hvdocker.units import show_seconds

LOCK_DIR = "/tmp/hvdocker.lock"
# A lock whose holder gave no sign of life for that long, by the host's own clock, is anybody's.
STALE_S = 60
# What a file that is no record of ours counts as; also to the scripts on the host.
NO_TOKEN = "0"
_LONGEST = 100


@dataclass(frozen=True)
class Claim:
    """What a run says of itself. Its token is the same on all hosts, so that a machine which an inventory
    names twice is not locked against itself."""

    token: str
    owner: str
    machine: str
    user: str
    verb: str
    cluster: str
    # The process that holds it, as `hosts.process` tells it: only its own machine can look.
    process: str = ""

    def as_json(self) -> str:
        """Everything but the token, which the host's script puts in front with the host's own time."""
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
    """A claim that was found on a host. `age_s` is the time since its last beat, `held_s` since it was taken,
    both by the host's clock."""

    age_s: int = 0
    held_s: int = 0

    @property
    def is_stale(self) -> bool:
        return self.age_s > STALE_S

    @property
    def is_named(self) -> bool:
        """Not where the lock is just being given back, nor where its record is none of ours."""
        return self.token != NO_TOKEN

    @property
    def since(self) -> str:
        return f"{self.held_s} s" if self.held_s < 60 else show_seconds(self.held_s)

    def as_dict(self) -> Mapping[str, object]:
        hidden = ("token", "process")
        shown = {name: value for name, value in asdict(self).items() if name not in hidden}
        return {**shown, "stale": self.is_stale}


def read_holder(line: str, age_s: int, now: int) -> Holder:
    """From a file that anybody on that host may have written: what is not there is `?`, and nothing in it
    can write to a terminal."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    record: Mapping[str, Any] = found if isinstance(found, dict) else {}  # Any: foreign JSON
    since, token = record.get("since"), word_of(record, "token")
    return Holder(
        token=token if token and set(token) <= set("0123456789abcdef") else NO_TOKEN,
        owner=word_of(record, "owner"),
        machine=word_of(record, "machine"),
        user=word_of(record, "user"),
        verb=word_of(record, "verb"),
        cluster=word_of(record, "cluster"),
        process=word_of(record, "process"),
        age_s=max(0, age_s),
        held_s=max(0, now - since) if type(since) is int else 0,
    )


def word_of(record: Mapping[str, Any], name: str) -> str:  # Any: as above
    value = record.get(name)
    text = value if isinstance(value, str) else ""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST]) or "?"
