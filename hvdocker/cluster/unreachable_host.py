"""What is known about a host that does not answer, read from the files of a job's master. Pure.

The master's files have the address, user and host key of every worker that it may log in to, and the hosts of
its job. The labels of such a host cannot be read, so this is the only source. With it the host stays trusted
and stays a host of the job, and can come back without further steps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.protocol.job import JobHost

_ADDRESS = r"[\w.:-]+"
_HOST = re.compile(rf"^Host ([\w.-]+) ({_ADDRESS})\n +HostName \2\n +User (hvd|root)$", re.MULTILINE)
# The address is in brackets, with the port, unless the port is 22.
_PINNED = re.compile(rf"^(?:\[({_ADDRESS})\]:\d+|({_ADDRESS})) (ssh-ed25519 [\w+/=]+)$", re.MULTILINE)


@dataclass(frozen=True)
class UnreachableHost:
    """A host that does not answer, as known from the masters of running jobs.

    `slots` are its slots by job, for the jobs that run on without it."""

    member: ClusterMember
    host_key: str
    slots: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.member.name

    def job_host_in(self, job: str) -> JobHost:
        """Return its entry in the host list of the job."""
        return JobHost(self.name, self.member.address, self.slots[job])

    def merged_with(self, other: UnreachableHost | None) -> UnreachableHost:
        """Return it with the slots that `other`, the same host as known from another job, has in addition."""
        return UnreachableHost(self.member, self.host_key, {**(other.slots if other else {}), **self.slots})


def read_unreachable(job: str, config: str, known_hosts: str, slots: Mapping[str, int]) -> Iterator[UnreachableHost]:
    """Yield the hosts in `slots` (slots by host) for which the master's files have an address and a key.

    `config` and `known_hosts` are the texts of the master's SSH files."""
    pinned = dict(_pinned(known_hosts))
    for member in _members(config):
        if member.name in slots and member.address in pinned:
            yield UnreachableHost(member, pinned[member.address], {job: slots[member.name]})


def read_slots(hosts: str) -> dict[str, int]:
    """Read slots by host from a job's hosts.json, its current hosts; empty if missing or damaged."""
    try:
        return {str(one["name"]): int(one["slots"]) for one in json.loads(hosts)["hosts"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _members(config: str) -> Iterator[ClusterMember]:
    """Read the members from an SSH config.

    Only blocks exactly as templates/ssh_config.j2 writes them count, because a job can write to that file."""
    for found in _HOST.finditer(config):
        yield ClusterMember(*found.groups())


def _pinned(known_hosts: str) -> Iterator[tuple[str, str]]:
    """Yield address and key of every line."""
    for found in _PINNED.finditer(known_hosts):
        yield found[1] or found[2], found[3]
