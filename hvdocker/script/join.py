"""Renders, as lines of a script, the steps by which a host joins a running job. Pure.

The parameter `trust` (how containers log in to each other, None if the plan makes no keys) is not used here; it is
there because all render functions of script.py have the same signature."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from hvdocker import names
from hvdocker.cluster import steps
from hvdocker.protocol.hosts_file import HOSTS_FILE, hosts_text
from hvdocker.script.writer import ScriptWriter, here_document, tar_command
from hvdocker.shell import host_folders
from hvdocker.shell.command import command
from hvdocker.sync import commands


def join_job(writer: ScriptWriter, step: steps.JoinJob, trust: Any) -> Iterator[str]:
    """Yield the lines that copy a running job to a host that joins it: code, secrets, capsule and job.json go from the
    head, through the controller, to the joining host. `trust` is not used."""
    root = step.job_folder
    folders = (root, f"{root}/out", f"{root}/logs")
    yield writer.on(step.host, host_folders.make_folders(root, folders, step.is_shared))
    code = writer.on(step.head, host_folders.pack_tar(step.head_folder, host_folders.CODE_PATHS))
    yield f"{code} | {writer.on(step.host, host_folders.replace_code(step.folder, step.is_shared))}"
    yield writer.on(step.host, commands.rewrite_index(commands.SyncFolder(f"{step.folder}/code", "joining")))
    if step.secrets:
        folder = '"$keys/secrets/hvdocker"'
        yield f'rm -rf "$keys/secrets"; mkdir -p {folder}'
        taken = writer.on(step.head, command("docker", "cp", f"{step.master}:{names.SECRETS_FOLDER}", "-"))
        yield f"{taken} | tar -xf - -C {folder}"
        given = writer.on(step.host, command("docker", "cp", "-", f"{step.worker}:{names.CONTAINER_FOLDER}"))
        yield f"{tar_command(step.uid, step.gid, 'secrets/hvdocker', 'secrets')} | {given}"
    capsule_files = writer.on(step.head, host_folders.pack_tar(step.head_job_folder, host_folders.ORIGIN_FILES))
    yield f"{capsule_files} | {writer.on(step.host, host_folders.unpack_tar(root))}"
    read = writer.on(step.head, command("cat", "--", f"{step.head_job_folder}/job.json"))
    write = writer.on(step.host, host_folders.write_file(f"{root}/job.json", step.is_shared))
    yield f"{read} | {_edit_job_file(step)} | {write}"


def _edit_job_file(step: steps.JoinJob) -> str:
    """Return a sed command that reads the head's job.json on standard input and prints the job.json of the joining
    host. The command replaces the host's name, and its GPUs if the job uses GPUs. If the joining host is new to the
    job, the command also adds it to the list of hosts.

    sed can edit by line, because hvdocker wrote the file: only keys of the first level have exactly one blank before
    them, so no value can look like one of the edited lines."""
    edits = ['s/^ "host": .*,$/' + f' "host": {json.dumps(step.job_host.name)},/']
    if step.is_new:
        job_host = json.dumps(step.job_host.as_json())
        edits.append('/^ "hosts": \\[$/,/^ \\],$/{/^ \\],$/i\\\n  ,' + job_host + "\n}")
    if step.devices:
        edits.append('/^ "devices": \\[$/,/^ \\]$/c\\\n "devices": ' + json.dumps(list(step.devices)))
    return shlex.join(["sed", *(word for edit in edits for word in ("-e", edit))])


def tell_master(writer: ScriptWriter, step: steps.UpdateMaster, trust: Any) -> Iterator[str]:
    """Yield the lines that tell a job's master of hosts that joined the job: they copy the new SSH configuration and
    known_hosts into the master, and for an elastic job also the list of the job's hosts. `trust` is not used."""
    folder, what = '"$keys/told', ["ssh/config", "ssh/known_hosts"]
    yield f'rm -rf {folder}"; mkdir -p {folder}/ssh"'
    yield f'cp -- "$keys/trust/config" "$keys/trust/known_hosts" {folder}/ssh/"'
    if step.job_hosts:
        yield here_document(f'{folder}/{HOSTS_FILE}"', hosts_text(step.job_hosts))
        what.append(HOSTS_FILE)
    target = f"{step.container}:{names.CONTAINER_FOLDER}"
    packed = tar_command(step.uid, step.gid, "told", " ".join(what))
    yield f"{packed} | {writer.on(step.host, command('docker', 'cp', '-', target))}"
