"""The steps that create, change and remove a cluster. Pure: `actions.py` says how they are carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.plan.plan import Step
from hvdocker.protocol.job_file import JobHost
from hvdocker.units import pluralize


@dataclass(frozen=True)
class Trust:
    """The members of a cluster (workers that may log in to each other), and the sources of its SSH keys.

    `port` is the port of the workers' sshd. The client key is the key with which all workers log in. If it exists, it
    is copied from the worker `client_key_container` on `client_key_host`; otherwise both are None. `user_key_files` are
    the user's private and public key files, used instead of a generated client key. `known_host_keys` are the public
    host keys of members that get no new worker, by host. `new_host_keys` are the hosts for which a new host key is
    generated."""

    cluster: str
    port: int
    members: tuple[ClusterMember, ...]
    client_key_host: str | None = None
    client_key_container: str | None = None
    user_key_files: tuple[str, str] | None = None
    known_host_keys: Mapping[str, str] = field(default_factory=dict)
    new_host_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class MakeKeys(Step):
    """Collect or generate the keys of the cluster, in memory, for the steps that follow.

    `trust` says which keys are generated and from where the others are read."""

    trust: Trust

    def describe(self) -> str:
        client = (
            f"take the client key from {self.trust.client_key_host}"
            if self.trust.client_key_host
            else ("use the client key you brought" if self.trust.user_key_files else "make a client key")
        )
        new = ", ".join(self.trust.new_host_keys)
        return f"{client}, make host keys for {new}" if new else client


@dataclass(frozen=True)
class MakeFolders(Step):
    """Create the folders `paths`, in the folder `root`, on a host. A rollback removes `root` if it was new.

    With `is_shared` the folders are open to all users, because the container's user is neither the SSH user nor root.
    Otherwise they are private to the SSH user. `members` is the line of the file `members` (see WriteMembers), which
    the step also writes. It is empty for a host that already has a worker: then the file is not written."""

    root: str
    paths: tuple[str, ...]
    is_shared: bool = False
    members: str = ""

    def describe(self) -> str:
        return f"make {self.root}"


@dataclass(frozen=True)
class MakeNetwork(Step):
    name: str
    subnet: str
    cluster: str

    def describe(self) -> str:
        return f"make the network {self.name} ({self.subnet})"


@dataclass(frozen=True)
class RemoveContainer(Step):
    name: str
    id: str
    why: str = ""

    def describe(self) -> str:
        return f"remove {self.name}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class CreateWorker(Step):
    spec: ContainerSpec
    address: str
    port: int

    def describe(self) -> str:
        return f"create {self.spec.name} from {self.spec.image}, sshd on {self.address}:{self.port}"


@dataclass(frozen=True)
class RefreshTrust(Step):
    """Write the current members of the cluster and their keys into the SSH files of a worker that is kept.

    `container` is the name of the worker. `uid` and `gid` are its user."""

    container: str
    uid: int
    gid: int

    def describe(self) -> str:
        return f"tell {self.container} who is in the cluster"


@dataclass(frozen=True)
class WriteMembers(Step):
    """Write the file `members` on a host: the hosts that its worker now trusts. The next `up` reads it.

    `folder` is the cluster's folder on the host. `members` is the line of the file, such as `a=10.0.0.1 b=10.0.0.2`.
    A label of the worker could not hold them, because labels of a container cannot change."""

    folder: str
    members: str

    def describe(self) -> str:
        return f"write {self.folder}/members"


@dataclass(frozen=True)
class JoinJob(Step):
    """Add a host to a running job: copy the code, the job's files and its secrets from the head (the master's host) to
    it.

    `head_folder` and `folder` are the cluster's folders on the head and on this host. `master` is the job's container
    on the head. `worker` is the worker of this host, which is created but not started. `job_host` is the host's entry
    in the job's list of hosts. `uid` and `gid` are the worker's user. `devices` are the UUIDs of the GPUs that the job
    gets here, `secrets` the names of its secrets. `is_shared`: open the files to all users, because the worker's user
    is neither the SSH user nor root. `is_new`: the job did not start with this host."""

    job: str
    head: str
    head_folder: str
    folder: str
    job_host: JobHost
    master: str
    worker: str
    uid: int
    gid: int
    devices: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    is_shared: bool = False
    is_new: bool = True

    @property
    def job_folder(self) -> str:
        return f"{self.folder}/jobs/{self.job}"

    @property
    def head_job_folder(self) -> str:
        return f"{self.head_folder}/jobs/{self.job}"

    def describe(self) -> str:
        return f"join {self.job} with {pluralize(self.job_host.slots, 'slot')}: code and files from {self.head}"


@dataclass(frozen=True)
class UpdateMaster(Step):
    """Write the current members of the cluster and their keys into the SSH files of a running job's master.

    `container` is the name of the master. `uid` and `gid` are its user. `job_hosts` are all hosts of an elastic job,
    with the master's host first. They are written into hosts.json. For other jobs `job_hosts` is empty, and hosts.json
    is not written."""

    container: str
    uid: int
    gid: int
    job_hosts: tuple[JobHost, ...] = ()

    def describe(self) -> str:
        hosts = f", and that it has {', '.join(host.name for host in self.job_hosts)}" if self.job_hosts else ""
        return f"tell {self.container} about the workers{hosts}"


@dataclass(frozen=True)
class StartContainer(Step):
    name: str

    def describe(self) -> str:
        return f"start {self.name}"


@dataclass(frozen=True)
class AwaitSshd(Step):
    container: str
    address: str
    port: int

    def describe(self) -> str:
        return f"wait for sshd on {self.address}:{self.port}"


@dataclass(frozen=True)
class CheckMesh(Step):
    """Log in over SSH from the worker `container` on this host to the worker of every host in `members`."""

    container: str
    members: tuple[str, ...]

    def describe(self) -> str:
        return f"log in from {self.host} to {', '.join(self.members)}"


@dataclass(frozen=True)
class RemoveTree(Step):
    path: str

    def describe(self) -> str:
        return f"remove {self.path}"


@dataclass(frozen=True)
class RemoveNetwork(Step):
    name: str

    def describe(self) -> str:
        return f"remove the network {self.name}"
