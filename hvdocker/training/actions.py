"""Carry out the steps of training/steps.py: write a job's files and create its master."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from hvdocker.cluster.containers.files import MASTER_SSH_FILES, PASSWD_COPY, container_folders
from hvdocker.cluster.containers.ssh_files import SSH_FOLDER
from hvdocker.cluster.worker_actions import create_container
from hvdocker.engine import archive
from hvdocker.engine.file_spec import FileSpec
from hvdocker.errors import HvdockerError
from hvdocker.jobs.capsule.capsule import PATCH_FILE
from hvdocker.plan.apply import Context
from hvdocker.plan.plan import Step
from hvdocker.shell import host_folders
from hvdocker.training.steps import CreateMaster, WriteJobFile, WritePatch
from hvdocker.transport.link import run_or_raise

# The kind of result in the context: the files of a worker, which a thread reads.
_WORKER_FILES = "files of the worker"


@contextmanager
def prepare(some: list[Step], context: Context) -> Iterator[None]:
    """Begin to read, in threads, the SSH files that each new master gets from the worker on its host, while the `with`
    block executes the steps. `some` are all steps of the stage. The engine takes 40 ms for reading, so it is begun
    before the master is created."""
    masters = [step for step in some if isinstance(step, CreateMaster)]
    with ThreadPoolExecutor(max_workers=max(1, len(masters))) as pool:
        for step in masters:
            engine = context.engine(step.host)
            read = pool.submit(archive.read_texts, engine, step.worker, SSH_FOLDER)
            context.results[_WORKER_FILES, step.host] = read
        yield


def _write_job(step: WriteJobFile, context: Context) -> None:
    run_or_raise(
        context.link(step.host),
        host_folders.write_file(f"{step.folder}/{step.name}", step.is_shared),
        "writing the job's file failed",
        [step.content.encode()],
    )


def _write_patch(step: WritePatch, context: Context) -> None:
    write = host_folders.write_file(f"{step.folder}/{PATCH_FILE}")
    run_or_raise(context.link(step.host), write, "writing the job's patch failed", [step.content])


def _create_master(step: CreateMaster, context: Context) -> None:
    """Create the job's master, and copy files of the head's worker into it: the client key, with which containers log
    in to each other, and other SSH files.

    The controller need not have the client key, so that `train` can run on any machine that reaches the hosts."""
    engine, spec = context.engine(step.host), step.spec
    reading: Future[dict[str, str]] = context.results.pop((_WORKER_FILES, step.host))
    made = create_container(context, step.host, spec, {})
    found = reading.result()
    missing = [path for path in MASTER_SSH_FILES if path not in found]
    if missing:
        raise HvdockerError(f"its worker lacks {', '.join(missing)}", fix="hvdocker down, then up again")
    taken = [FileSpec(path, found[path]) for path in MASTER_SSH_FILES]
    passwd = found.get(PASSWD_COPY)
    if passwd is None:
        # The worker was created by an earlier version, or by the script of `up --script`.
        passwd = archive.read_text(engine, step.worker, "/etc/passwd") or ""
    archive.put_initial_files(engine, made, [*container_folders(), *taken], spec.uid, spec.gid, passwd)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    WriteJobFile: _write_job,
    WritePatch: _write_patch,
    CreateMaster: _create_master,
}
