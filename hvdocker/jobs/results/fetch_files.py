"""Fetch the files of a job from every host that had a rank: outputs, logs, and what the job left in the code
folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from hvdocker.errors import HvdockerError
from hvdocker.jobs.results.code_files import HostCode, parse_code
from hvdocker.jobs.results.commands import list_code
from hvdocker.jobs.results.merge import FetchedFiles, merge
from hvdocker.jobs.results.read_host import JobSource, read_host
from hvdocker.locks.process_id import has_process_ended, own_process_id
from hvdocker.transport.link import HostLink, run_or_raise
from hvdocker.units import show_bytes

_STAGING_PREFIX = ".fetching-"
# The file in a staging folder that names the process that uses it.
_STAGING_OWNER = "process"


def fetch_job(job: str, sources: Sequence[JobSource], target: Path) -> FetchedFiles:
    """Fetch the files of a job from its hosts (`sources`) and merge them into the folder `target`. Return what was
    fetched.

    All archives are unpacked into a staging folder in `target` first, so that a broken link leaves no partial result.
    Files that cannot be read are named in the result, and all others are fetched."""
    target.mkdir(parents=True, exist_ok=True)
    _remove_stale_staging(target)
    _check_space(sources, target)
    report = FetchedFiles(target)
    with tempfile.TemporaryDirectory(prefix=_STAGING_PREFIX, dir=target) as staging:
        (Path(staging) / _STAGING_OWNER).write_text(own_process_id())
        staged = []
        for source in sources:
            found = read_host(job, source, lambda: Path(tempfile.mkdtemp(dir=staging)))
            staged += [(source.link.name, place) for place in found.places]
            report.skipped += found.skipped
            report.unread += [f"{source.link.name}: {line}" for line in found.unread]
            if not found.unread:
                report.hosts = tuple(sorted({*report.hosts, source.link.name}))
        merge(job, staged, report)
    return report


def read_code(link: HostLink, cluster_dir: str, running: Collection[str]) -> HostCode:
    """Ask a host which files jobs left in its code folder. `cluster_dir` is the cluster's folder there. `running` are
    the ids of the jobs that run now. Raises HvdockerError if the answer is incomplete."""
    import gzip

    what = "listing what jobs left in the code folder failed"
    packed = run_or_raise(link, list_code(cluster_dir), what, timeout_s=None).out
    try:
        found = parse_code(gzip.decompress(packed), running)
    except (OSError, EOFError):
        found = None
    if found is None:
        raise HvdockerError(f"{what}: the answer is incomplete", host=link.name)
    return found


def _check_space(sources: Sequence[JobSource], target: Path) -> None:
    needed = sum(file.size_bytes for source in sources for file in source.code)
    free = shutil.disk_usage(target).free
    if needed > free:
        raise HvdockerError(
            f"{show_bytes(needed)} that were saved beside the script do not fit into {target}: "
            f"{show_bytes(free)} are free",
            fix="free some space here, or name a folder on another disk: hvdocker fetch JOB FOLDER",
        )


def _remove_stale_staging(target: Path) -> None:
    """Remove the staging folders in `target` that a killed fetch left. A staging folder of a process that still runs is
    left alone."""
    for folder in target.glob(f"{_STAGING_PREFIX}*"):
        with suppress(OSError):
            if has_process_ended((folder / _STAGING_OWNER).read_text()):
                shutil.rmtree(folder)
