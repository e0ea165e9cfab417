"""A job's code, file and master."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hvdocker.commands import files
from hvdocker.commands.container_files import MASTER_TAKES, folders
from hvdocker.commands.ssh_files import FOLDER, FileSpec
from hvdocker.errors import HvdockerError
from hvdocker.hosts import archive, code
from hvdocker.hosts.actions.workers import create
from hvdocker.hosts.apply import Context
from hvdocker.hosts.link import must
from hvdocker.model.capsule import PATCH_FILE
from hvdocker.plan import steps


def prepare(some: list[steps.Step], context: Context) -> None:
    """A folder is read and packed once for all hosts."""
    code.bring([step for step in some if isinstance(step, steps.SyncCode)], context)


def _sync_code(step: steps.SyncCode, context: Context) -> None:
    """Its host was synced with all others, before: here it gets its own outcome."""
    code.tell(step.host, context)


def _write_job(step: steps.WriteJob, context: Context) -> None:
    must(
        context.link(step.host),
        files.write_file(f"{step.folder}/{step.name}", step.is_shared),
        "writing the job's file failed",
        [step.content.encode()],
    )


def _write_patch(step: steps.WritePatch, context: Context) -> None:
    write = files.write_file(f"{step.folder}/{PATCH_FILE}")
    must(context.link(step.host), write, "writing the job's patch failed", [step.content])


def _create_master(step: steps.CreateMaster, context: Context) -> None:
    """The client key comes from the head's worker: any laptop can train."""
    engine, spec = context.engine(step.host), step.spec
    with ThreadPoolExecutor(max_workers=2) as beside:
        keys_there = beside.submit(archive.read_texts, engine, step.worker, FOLDER)
        passwd = beside.submit(archive.read_text, engine, step.worker, "/etc/passwd")
        made = create(context, step.host, spec, {})
    found = keys_there.result()
    missing = [path for path in MASTER_TAKES if path not in found]
    if missing:
        raise HvdockerError(f"its worker lacks {', '.join(missing)}", fix="hvdocker down, then up again")
    taken = [FileSpec(path, found[path]) for path in MASTER_TAKES]
    archive.furnish(engine, made, [*folders(), *taken], spec.uid, spec.gid, passwd.result() or "")


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    steps.SyncCode: _sync_code,
    steps.WriteJob: _write_job,
    steps.WritePatch: _write_patch,
    steps.CreateMaster: _create_master,
}
