"""A data set beside the code: 3 GB of random bytes."""

import hashlib
import os
import resource
import time

from hvdocker.sync.codec import Codec
from hvdocker.sync.sync import SyncOptions
from tests.cluster.lab.wait import until
from tests.cluster.test_sync import CODE, MB, Project, project

__all__ = ["project"]


def test_a_file_of_3_gb_travels_once_and_never_sits_in_memory(project: Project) -> None:
    project.links.pop(project.hosts.pop().name)._link.close()
    host = project.hosts[0]
    project.write("train.py", "old")
    digest = hashlib.sha256()
    with (project.here / "data.bin").open("wb") as file:
        for _ in range(3 * 1024 // 8):
            chunk = os.urandom(8 * MB)
            digest.update(chunk)
            file.write(chunk)
    settled_at = (project.here / "data.bin").stat().st_ctime + 3
    until(lambda: time.time() > settled_at or None, "its hash will be remembered", 10)
    told: list[int] = []
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = project.sync(SyncOptions(progress=lambda name, done, total: told.append(done)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 500 * 1024
    assert (report.sent, report.codec) == (2, Codec.NONE)
    assert told == sorted(told) and told[-1] == report.sent_bytes
    assert host.exec(f"sha256sum < {CODE}/data.bin").split()[0] == digest.hexdigest()
    assert "data.bin" in project.cache.load(project.here)
    project.write("train.py", "new")
    again = project.sync()
    assert (again.sent, project.trips) == (1, {2})
    assert again.wire_bytes < 100_000
    (project.here / "data.bin").unlink()
    assert project.sync().removed == 1
    assert host.exec(f"ls {CODE}") == "train.py\n"
