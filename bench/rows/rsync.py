"""Installs rsync on the benchmark's hosts, which lack it on purpose: a copy of this machine's rsync."""

import io
import re
import shutil
import tarfile
from pathlib import Path

from bench.testbed import BenchError, run
from tests.cluster.lab import LabHost

FOLDER = "/opt/bench-rsync"
# This machine's loader and libraries are copied as well: those of the host may be of another release.
REMOTE = f"{FOLDER}/loader --library-path {FOLDER} {FOLDER}/rsync"


def install(host: LabHost) -> None:
    host.exec(["mkdir", "-p", FOLDER])
    host.engine.put_archive(host.container, FOLDER, _bundle())


def _bundle() -> bytes:
    program = shutil.which("rsync")
    if program is None:
        raise BenchError("rsync is not installed here: sudo apt-get install rsync")
    libraries = re.findall(r"(/\S+) \(0x", run(["ldd", program]))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        tar.add(program, "rsync")
        for library in libraries:
            name = Path(library).name
            tar.add(library, "loader" if name.startswith("ld-") else name)
    return buffer.getvalue()
