"""The papers of a job, as a host of it has them: its capsule, its file, its patch and its record. A host's
word is not trusted: only files of these names, and no more of them than fits into memory."""

from __future__ import annotations

import io
import tarfile

from hvdocker.errors import HvdockerError
from hvdocker.jobs.capsule.capsule import CAPSULE_FILE, JOB_FILE, PATCH_FILE, PATCH_MOST_BYTES, RECORD_FILE
from hvdocker.shell import host_folders
from hvdocker.transport.link import HostLink

PAPERS = (CAPSULE_FILE, JOB_FILE, PATCH_FILE, RECORD_FILE)
MOST_BYTES = 2 * PATCH_MOST_BYTES


def read_papers(link: HostLink, folder: str) -> dict[str, bytes]:
    """Those that are there, by name. What a job of an earlier version has not is left out."""
    read = bytearray()
    for chunk in link.stream(host_folders.pack(folder, PAPERS)):
        read += chunk
        if len(read) > MOST_BYTES:
            raise HvdockerError(f"the papers in {folder} are too large", host=link.name)
    try:
        with tarfile.open(fileobj=io.BytesIO(read)) as tar:
            found = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
            return {name: file.read() for name, file in found.items() if file and name in PAPERS}
    except (tarfile.TarError, OSError, ValueError, LookupError) as error:
        raise HvdockerError("the job's papers arrived damaged", host=link.name, lines=[str(error)]) from error
