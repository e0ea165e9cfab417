"""Finds the files into which this process writes its own output, because they change while they are synced."""

from __future__ import annotations

import os
import stat

FileId = tuple[int, int]  # device, inode

_STDOUT, _STDERR = 1, 2


def own_output_files() -> frozenset[FileId]:
    """Return the regular files behind standard output and standard error, as after `hvdocker train … > train.log`. A
    file is given by its device and inode.

    With `| tee train.log` only tee knows the file, so it is not among them."""
    found = set()
    for descriptor in (_STDOUT, _STDERR):
        try:
            status = os.fstat(descriptor)
        except OSError:  # the descriptor is closed
            continue
        if stat.S_ISREG(status.st_mode):
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)
