"""What others know of a host that does not answer: the master of a job has the address, the user and the key
of everybody that it may log in to, and the hosts of its job."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker.cluster.containers.ssh_files import Member
from hvdocker.protocol.job import JobHost

_ADDRESS = r"[\w.:-]+"
_HOST = re.compile(rf"^Host ([\w.-]+) ({_ADDRESS})\n +HostName \2\n +User (hvd|root)$", re.MULTILINE)
# In brackets with the port, where that is not 22.
_PINNED = re.compile(rf"^(?:\[({_ADDRESS})\]:\d+|({_ADDRESS})) (ssh-ed25519 [\w+/=]+)$", re.MULTILINE)


@dataclass(frozen=True)
class UnreachableHost:
    """`slots` of it are, by job, those that jobs have which run on without it."""

    member: Member
    host_key: str
    slots: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.member.name

    def seat_in(self, job: str) -> JobHost:
        return JobHost(self.name, self.member.address, self.slots[job])

    def also(self, other: UnreachableHost | None) -> UnreachableHost:
        """As another job knows it, too."""
        return UnreachableHost(self.member, self.host_key, {**(other.slots if other else {}), **self.slots})


def read_unreachable(
    job: str, config: str, known_hosts: str, slots: Mapping[str, int]
) -> Iterator[UnreachableHost]:
    """Those hosts of the job that its master could log in to; the texts are its files."""
    pinned = dict(_pinned(known_hosts))
    for member in _members(config):
        if member.name in slots and member.address in pinned:
            yield UnreachableHost(member, pinned[member.address], {job: slots[member.name]})


def read_slots(hosts: str) -> dict[str, int]:
    """From the file that says which hosts a job has by now; nothing where there is none, or it is damaged."""
    try:
        return {str(one["name"]): int(one["slots"]) for one in json.loads(hosts)["hosts"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _members(config: str) -> Iterator[Member]:
    """As templates/ssh_config.j2 writes them, and nothing else: a job could have written there."""
    for found in _HOST.finditer(config):
        yield Member(*found.groups())


def _pinned(known_hosts: str) -> Iterator[tuple[str, str]]:
    """Address and key."""
    for found in _PINNED.finditer(known_hosts):
        yield found[1] or found[2], found[3]
