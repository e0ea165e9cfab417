"""Which files a worker and a master get before they start."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from hvdocker.cluster.containers.ssh_files import (
    Member,
    authorized_keys,
    known_hosts,
    render_ssh_config,
    sshd_config,
)
from hvdocker.engine.file_spec import FileSpec
from hvdocker.protocol.job import JobHost


def trust_files(
    template: str,
    cluster: str,
    members: Sequence[Member],
    port: int,
    host_keys: Mapping[str, str],
    client_public: str,
) -> list[FileSpec]:
    """What changes when workers come or go; nothing of it is secret."""
    return [
        FileSpec("ssh/config", render_ssh_config(template, cluster, members, port)),
        FileSpec("ssh/known_hosts", known_hosts(members, host_keys, port)),
        FileSpec("ssh/authorized_keys", authorized_keys(client_public, members)),
    ]


def master_update_files(trust: Iterable[FileSpec], seats: Sequence[JobHost]) -> list[FileSpec]:
    """What a master is told while its job runs: whom it may log in to, and, where it grows and shrinks, the
    hosts that it may use. These come last: whoever reads of a new host knows its key already."""
    known = [file for file in trust if file.path in MASTER_TAKES]
    return [*known, FileSpec(HOSTS_FILE, hosts_text(seats))] if seats else known


def hosts_text(seats: Iterable[JobHost]) -> str:
    return json.dumps({"hosts": [seat.as_json() for seat in seats]}) + "\n"


def folders() -> list[FileSpec]:
    return [FileSpec("", None, 0o700), FileSpec("ssh", None, 0o700), FileSpec("home", None, 0o700)]


def worker_files(
    trust: Iterable[FileSpec], client_private: str, host_private: str, address: str, port: int, uid: int
) -> list[FileSpec]:
    return [
        *folders(),
        *trust,
        FileSpec("ssh/id_ed25519", client_private),
        FileSpec("ssh/host_ed25519_key", host_private),
        FileSpec("ssh/sshd_config", sshd_config(address, port, uid)),
    ]


# In a master, below /run/hvdocker: the hosts of its job, if others than job.json says.
HOSTS_FILE = "hosts.json"
# What a master takes over from its head's worker.
MASTER_TAKES = ("ssh/config", "ssh/known_hosts", "ssh/id_ed25519")
