"""Lists the files that workers and masters get before they start, and those that change when workers are added or
removed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hvdocker.cluster.containers.ssh_files import (
    ClusterMember,
    authorized_keys,
    known_hosts,
    render_ssh_config,
    sshd_config,
)
from hvdocker.engine.file_spec import FileSpec
from hvdocker.protocol.hosts_file import HOSTS_FILE, hosts_text
from hvdocker.protocol.job_file import JobHost


def trust_files(
    template: str,
    cluster: str,
    members: Sequence[ClusterMember],
    port: int,
    host_keys: Mapping[str, str],
    client_public: str,
) -> list[FileSpec]:
    """Return the SSH files of a worker that change when workers are added or removed. None of them is secret.

    `template` is the text of templates/ssh_config.j2. `members` are all workers of the cluster, and `port` is the
    port of their sshd. `host_keys` are their public host keys, by host. `client_public` is the public key with which
    all of them log in."""
    return [
        FileSpec("ssh/config", render_ssh_config(template, cluster, members, port)),
        FileSpec("ssh/known_hosts", known_hosts(members, host_keys, port)),
        FileSpec("ssh/authorized_keys", authorized_keys(client_public, members)),
    ]


def master_update_files(trust: Iterable[FileSpec], job_hosts: Sequence[JobHost]) -> list[FileSpec]:
    """Return the files to write into a running master when workers are added or removed.

    The SSH config and known_hosts are taken from `trust`, the SSH files of workers. For an elastic job, hosts.json with
    the hosts of the job (`job_hosts`) is added; `job_hosts` is empty for other jobs. hosts.json is the last file: the
    supervisor in the master reads new hosts there, and must already have their keys."""
    known = [file for file in trust if file.path in MASTER_SSH_FILES]
    return [*known, FileSpec(HOSTS_FILE, hosts_text(job_hosts))] if job_hosts else known


def container_folders() -> list[FileSpec]:
    """Return the folders below /run/hvdocker that every worker and master has."""
    return [FileSpec("", None, 0o700), FileSpec("ssh", None, 0o700), FileSpec("home", None, 0o700)]


def worker_files(
    trust: Iterable[FileSpec],
    client_private: str,
    host_private: str,
    address: str,
    port: int,
    uid: int,
    passwd: str | None,
) -> list[FileSpec]:
    """Return all files below /run/hvdocker that a new worker gets after it is created and before it is started.

    `trust` are the SSH config, known_hosts and authorized_keys (from `trust_files`). Added to them are the sshd
    configuration and the texts of two private keys: `client_private`, with which the worker logs in to others, and
    `host_private`, the host key of its sshd. The sshd listens on `address` and `port`, and lets the user `uid` log
    in. `passwd` is the image's /etc/passwd, which jobs need; None for a worker that gets no jobs."""
    return [
        *container_folders(),
        *trust,
        FileSpec("ssh/id_ed25519", client_private),
        FileSpec("ssh/host_ed25519_key", host_private),
        FileSpec("ssh/sshd_config", sshd_config(address, port, uid)),
        *([] if passwd is None else [FileSpec(PASSWD_COPY, passwd)]),
    ]


# The image's /etc/passwd, which a job's master needs. It is copied in one archive with the SSH files, because every
# archive that the engine packs takes time.
PASSWD_COPY = "ssh/passwd"
# The files that a master gets from the worker on its own host (the head).
MASTER_SSH_FILES = ("ssh/config", "ssh/known_hosts", "ssh/id_ed25519")
