"""Actions that add a host to a running job, and update the job's master."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hvdocker.cluster import steps
from hvdocker.cluster.containers.files import master_update_files
from hvdocker.cluster.worker_actions import current_trust_files, make_folders
from hvdocker.engine import archive
from hvdocker.errors import HvdockerError
from hvdocker.plan.apply import Context
from hvdocker.protocol.job_file import job_file_for_new_host
from hvdocker.shell import host_folders
from hvdocker.shell.command import command
from hvdocker.sync import commands
from hvdocker.transport.link import run_or_raise


def _join_job(step: steps.JoinJob, context: Context) -> None:
    """Copy the job's code, secrets and capsule (the record of its inputs) to a host that joins, and write the host's
    job.json.

    The source is the head: the host of the job's master. The code is not copied from the controller, because it may
    have changed there since the job started. The data passes through the controller, because a host need not be able to
    log in to another host."""
    folder = step.job_folder
    make_folders(context, step.host, folder, (folder, f"{folder}/out", f"{folder}/logs"), step.is_shared)
    _copy_code(step, context)
    _copy_secrets(step, context)
    _copy_capsule(step, context)
    _write_job_file(step, context)


def _copy_code(step: steps.JoinJob, context: Context) -> None:
    """Copy the code from the head (the host of the job's master) to the host.

    The index is copied too. It tells the next sync which files are there."""
    link = context.link(step.host)
    packed = context.link(step.head).stream(host_folders.pack_tar(step.head_folder, host_folders.CODE_PATHS))
    run_or_raise(link, host_folders.replace_code(step.folder, step.is_shared), "unpacking the code failed", packed)
    stage = commands.SyncFolder(f"{step.folder}/code", "joining")
    run_or_raise(link, commands.rewrite_index(stage), "writing the index of the code failed")


def _copy_secrets(step: steps.JoinJob, context: Context) -> None:
    """Copy the job's secrets from the master to the host's worker. On the controller they are only in memory.

    If the job has just ended, its secrets are already removed, and nothing is copied."""
    if not step.secrets:
        return
    found = archive.read_secrets(context.engine(step.head), step.master, step.job)
    values = {name: found[name] for name in step.secrets if name in found}
    archive.put_secrets(context.engine(step.host), step.worker, step.job, values, step.uid, step.gid)


def _copy_capsule(step: steps.JoinJob, context: Context) -> None:
    """Copy the job's capsule (the record of its inputs) from the head into the job's folder on the new host.

    The files are capsule.json, and code.patch if there is one. The head is the host of the job's master."""
    packed = context.link(step.head).stream(host_folders.pack_tar(step.head_job_folder, host_folders.ORIGIN_FILES))
    unpack = host_folders.unpack_tar(step.job_folder)
    run_or_raise(context.link(step.host), unpack, "unpacking what the job recorded of itself failed", packed)


def _write_job_file(step: steps.JoinJob, context: Context) -> None:
    """Write the job's job.json to the host. It is the head's job.json, changed to name this host, its slots and its
    GPUs."""
    path = f"{step.head_job_folder}/job.json"
    told = run_or_raise(context.link(step.head), command("cat", "--", path), "reading the job's file failed")
    try:
        text = job_file_for_new_host(told.text, step.job_host, step.devices)
    except ValueError as error:
        raise HvdockerError(f"{path} is damaged", host=step.head, lines=[str(error)]) from error
    write = host_folders.write_file(f"{step.job_folder}/job.json", step.is_shared)
    run_or_raise(context.link(step.host), write, "writing the job's file failed", [text.encode()])


def _update_master(step: steps.UpdateMaster, context: Context) -> None:
    """Write SSH files with all current workers into the master, and for an elastic job also the job's hosts.

    If `up` fails later, this is not undone. The job ignores a host whose worker does not answer, and the next `up`
    writes the files again."""
    told = master_update_files(current_trust_files(context), step.job_hosts)
    archive.put_files(context.engine(step.host), step.container, told, step.uid, step.gid)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    steps.JoinJob: _join_job,
    steps.UpdateMaster: _update_master,
}
