"""Facts about a host that does not answer, read from the files of the master of a running elastic job. Pure.

The labels of such a host's worker cannot be read. But the files of a master have the address, user and host key of
every worker that the master may log in to. They also have the hosts of the job once `up` has written hosts.json. With
these facts `up` keeps the host trusted and in the job, so that the host can come back without further steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.protocol.hosts_file import parse_hosts
from hvdocker.protocol.job_file import JobHost

_ADDRESS = r"[\w.:-]+"
_HOST = re.compile(rf"^Host ([\w.-]+) ({_ADDRESS})\n +HostName \2\n +User (hvd|root)$", re.MULTILINE)
# The address is in brackets, with the port, unless the port is 22.
_PINNED = re.compile(rf"^(?:\[({_ADDRESS})\]:\d+|({_ADDRESS})) (ssh-ed25519 [\w+/=]+)$", re.MULTILINE)


@dataclass(frozen=True)
class UnreachableHost:
    """A host that does not answer, as known from the masters of running elastic jobs.

    `member` has the address of its worker, `host_key` the worker's public host key. `slots` maps each job that runs
    on without the host to the slots that the job has there."""

    member: ClusterMember
    host_key: str
    slots: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.member.name

    def job_host_in(self, job: str) -> JobHost:
        """Return the entry of this host in the host list of the job. `job` must be a key of `slots`."""
        return JobHost(self.name, self.member.address, self.slots[job])

    def merged_with(self, other: UnreachableHost | None) -> UnreachableHost:
        """Return this host with the slots of `other` added. `other` is the same host, as known from another job's
        master.

        If `other` is None, return this host unchanged."""
        return UnreachableHost(self.member, self.host_key, {**(other.slots if other else {}), **self.slots})


def read_unreachable(job: str, config: str, known_hosts: str, slots: Mapping[str, int]) -> Iterator[UnreachableHost]:
    """Yield the hosts in `slots` for which the SSH files of the job's master have an address and a key.

    `config` and `known_hosts` are the texts of these files. `slots` has the slots of the job by host. Hosts that the
    files do not name are left out."""
    pinned = dict(_pinned(known_hosts))
    for member in _members(config):
        if member.name in slots and member.address in pinned:
            yield UnreachableHost(member, pinned[member.address], {job: slots[member.name]})


def read_slots(hosts: str) -> dict[str, int]:
    """Return the slots by host from `hosts`, the text of hosts.json, which lists the current hosts of a job.

    Return an empty mapping if the text is empty or damaged."""
    try:
        return {job_host.name: job_host.slots for job_host in parse_hosts(hosts)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _members(config: str) -> Iterator[ClusterMember]:
    """Yield the workers that `config` names. `config` is the text of the SSH config of a master.

    The job can write to that file, so only blocks that look exactly as in templates/ssh_config.j2 count."""
    for found in _HOST.finditer(config):
        yield ClusterMember(*found.groups())


def _pinned(known_hosts: str) -> Iterator[tuple[str, str]]:
    """Yield the address and the public host key of every well-formed line of `known_hosts`, the text of a known_hosts
    file."""
    for found in _PINNED.finditer(known_hosts):
        yield found[1] or found[2], found[3]
