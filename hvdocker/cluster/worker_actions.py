"""Actions that create the keys, folders, network and workers of a cluster, and check that workers answer."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hvdocker import names
from hvdocker.cluster import steps
from hvdocker.cluster.containers.files import trust_files, worker_files
from hvdocker.cluster.containers.ssh_files import SSH_FOLDER
from hvdocker.engine import archive
from hvdocker.engine.container_commands import check_mesh, check_sshd
from hvdocker.engine.container_exec import exec_output
from hvdocker.engine.container_spec import ContainerSpec, create_body
from hvdocker.engine.file_spec import FileSpec
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.plan.apply import Context
from hvdocker.shell import host_folders
from hvdocker.transport.link import HostLink, raise_if_failed, run_or_raise
from hvdocker.transport.ssh import key_pairs

SSHD_DEADLINE_S = 30
SSHD_PAUSES_S = (0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.4, 0.4)


def _make_keys(step: steps.MakeKeys, context: Context) -> None:
    """Collect or generate the cluster's SSH keys. Store them and the cluster's members in `context`, in memory.

    Later steps of the plan read them from the context."""
    trust = step.trust
    context.trust = trust
    new_hosts = {name: key_pairs.make_pair() for name in trust.new_host_keys}
    publics = {**trust.known_host_keys, **{name: pair.public for name, pair in new_hosts.items()}}
    context.keyring = key_pairs.ClusterKeys(_client_key(step, context), new_hosts, publics)


def _client_key(step: steps.MakeKeys, context: Context) -> key_pairs.SshKeyPair:
    """Return the client key of the cluster: the user's own, else that of a worker that is kept, else a new key.

    Raises HvdockerError if the kept worker has lost its key."""
    trust = step.trust
    if trust.user_key_files:
        return key_pairs.read_user_key_pair(*map(Path, trust.user_key_files))
    if not trust.client_key_host or not trust.client_key_container:
        return key_pairs.make_pair()
    text = archive.read_text(
        context.engine(trust.client_key_host), trust.client_key_container, f"{SSH_FOLDER}/id_ed25519"
    )
    if text is None:
        raise HvdockerError(
            "its worker has lost the cluster's client key",
            host=trust.client_key_host,
            fix="hvdocker down, then up again",
        )
    return key_pairs.pair_from_private(text)


def _make_folders(step: steps.MakeFolders, context: Context) -> None:
    make_folders(context, step.host, step.root, step.paths, step.is_shared, step.members)


def make_folders(
    context: Context, host: str, root: str, paths: tuple[str, ...], is_shared: bool, members: str = ""
) -> None:
    """Create the folders `paths` in `root` on a host. With `is_shared` they are open to all users, otherwise private.

    `members` is the line of the file `members` in `root`, which is written too. If it is empty, the file is not
    written. If `root` is new, a function that removes it is recorded in the context, for the rollback of a plan that
    fails."""
    link = context.link(host)
    result = link.run(host_folders.make_folders(root, paths, is_shared, members))
    highest = host_folders.highest_new_folder(result.text)
    if highest:
        context.add_undo(host, f"folder {root}", partial(_remove_new_folders, link, root, highest))
    raise_if_failed(link, result, f"making {root} failed", "is the disk full, or the home read-only?")


def _remove_new_folders(link: HostLink, root: str, highest: str) -> None:
    run_or_raise(link, host_folders.remove_new_folders(root, highest), f"removing {root} failed")


def _make_network(step: steps.MakeNetwork, context: Context) -> None:
    engine = context.engine(step.host)
    ipam = {"Driver": "default", "Config": [{"Subnet": step.subnet}]}
    labels = {names.LABEL_CLUSTER: step.cluster}
    made = engine.create_network(step.name, driver="bridge", ipam=ipam, labels=labels, check_duplicate=True)
    context.add_undo(step.host, f"network {step.name}", lambda: engine.remove_network(made["Id"]))


def create_container(context: Context, host: str, spec: ContainerSpec, extra_labels: Mapping[str, str]) -> str:
    """Create a container without starting it, and return its id. `extra_labels` are added to the labels of `spec`.

    A function that removes the container is recorded in the context, for the rollback of a plan that fails."""
    engine = context.engine(host)
    body = create_body(spec, extra_labels)
    made: str = engine.create_container_from_config(body, spec.name)["Id"]
    context.add_undo(host, f"container {spec.name}", lambda: engine.remove_container(made, force=True, v=True))
    return made


def _create_worker(step: steps.CreateWorker, context: Context) -> None:
    ring: key_pairs.ClusterKeys = context.keyring
    spec, engine = step.spec, context.engine(step.host)
    pair = ring.new_hosts[step.host]
    # Public keys are labels, so that any controller can rebuild known_hosts.
    labels = {names.LABEL_HOST_KEY: pair.public, names.LABEL_CLIENT_KEY: ring.client.public}
    made = create_container(context, step.host, spec, labels)
    passwd = _image_passwd(context, step.host, spec, made)
    wanted = worker_files(
        current_trust_files(context),
        ring.client.private.reveal(),
        pair.private.reveal(),
        step.address,
        step.port,
        spec.uid,
        passwd,
    )
    archive.put_initial_files(engine, made, wanted, spec.uid, spec.gid, passwd)


def _image_passwd(context: Context, host: str, spec: ContainerSpec, container: str) -> str:
    """Return the text of /etc/passwd in the image of `spec`, or empty text if the image has no such file.

    The file is read from `container`, which was made from the image on `host`. It is read once per plan and reused for
    other hosts, since they have the same image."""
    return context.once(
        f"passwd of {spec.image}", lambda: archive.read_text(context.engine(host), container, "/etc/passwd") or ""
    )


def current_trust_files(context: Context) -> list[FileSpec]:
    """Return the SSH files of workers, made from the members and keys in the context. The step MakeKeys sets these."""
    trust, ring = context.trust, context.keyring
    return trust_files(
        context.template, trust.cluster, trust.members, trust.port, ring.host_publics, ring.client.public
    )


def _refresh_trust(step: steps.RefreshTrust, context: Context) -> None:
    archive.put_files(context.engine(step.host), step.container, current_trust_files(context), step.uid, step.gid)


def _write_members(step: steps.WriteMembers, context: Context) -> None:
    write = host_folders.write_members(step.folder)
    run_or_raise(context.link(step.host), write, "writing the members failed", [f"{step.members}\n".encode()])


def _start_container(step: steps.StartContainer, context: Context) -> None:
    context.engine(step.host).start(step.name)


def _sshd_answers(step: steps.AwaitSshd, context: Context) -> bool:
    """Return whether the worker's sshd answers a connection through the link to its host, within a few seconds.

    This starts no process on the host. Return False also if the link cannot open such connections."""
    for pause_s in SSHD_PAUSES_S:
        said = context.link(step.host).greeting(step.address, step.port, timeout_s=1.0)
        if said is None:
            return False
        if said.startswith(b"SSH-"):
            return True
        time.sleep(pause_s)
    return False


def _await_sshd(step: steps.AwaitSshd, context: Context) -> None:
    """Wait until the worker's sshd answers, and raise HostUnfit if it does not.

    If sshd does not answer through the link, a command in the worker tries to reach it for up to SSHD_DEADLINE_S
    seconds. The error has the end of the container's log, which says why sshd died."""
    if _sshd_answers(step, context):
        return
    from docker.errors import APIError

    argv = list(check_sshd(step.address, step.port, SSHD_DEADLINE_S).argv)
    try:
        code, said = exec_output(context.engine(step.host), step.container, argv)
    except APIError as error:
        code, said = 1, str(error.explanation or error)
    if code == 0:
        return
    log = context.engine(step.host).logs(step.container, tail=10).decode("utf-8", "replace")
    raise HostUnfit(
        f"the worker's sshd does not answer on {step.address}:{step.port}",
        host=step.host,
        command=f"docker logs {step.container}",
        lines=[*log.splitlines()[-10:], *said.splitlines()[-3:]],
        fix="is the address this host's own, and the port free? look: hvdocker doctor",
    )


def _check_mesh(step: steps.CheckMesh, context: Context) -> None:
    argv = list(check_mesh(step.members).argv)
    code, said = exec_output(context.engine(step.host), step.container, argv)
    if code == 0:
        return
    lines = _mesh_lines(step.host, said)
    raise HostUnfit(
        f"{step.host} cannot log in to every worker",
        host=step.host,
        command=shlex.join(("docker", "exec", step.container, *argv)),
        lines=lines,
        fix="does a firewall stand between them on the worker port? look: hvdocker doctor",
    )


def _mesh_lines(head: str, said: str) -> list[str]:
    """Return one line for each host that `head` could not log in to, with the reason.

    `said` is the output of the login check. Its last lines are returned unchanged if it cannot be parsed."""
    try:
        verdicts = json.loads(said.strip().splitlines()[-1])
        return [f"{head} → {host}: {why}" for host, why in verdicts.items() if why]
    except (ValueError, IndexError, AttributeError):
        return said.splitlines()[-10:]


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    steps.MakeKeys: _make_keys,
    steps.MakeFolders: _make_folders,
    steps.MakeNetwork: _make_network,
    steps.CreateWorker: _create_worker,
    steps.RefreshTrust: _refresh_trust,
    steps.WriteMembers: _write_members,
    steps.StartContainer: _start_container,
    steps.AwaitSshd: _await_sshd,
    steps.CheckMesh: _check_mesh,
}
