"""Lets a Python process of a rank say where it is, but only where HVDOCKER_STACKS names a folder: on a signal
all stacks are written to a file of its own there, also while it is stuck in a library. Every Python of a rank
starts by this, so it must be cheap and must not fail."""

import atexit
import faulthandler
import fcntl
import os

# SIGRTMAX - 2, in numbers: the signal module is slow to import.
SIGNAL = 62
# Out of the way of programs that count on the first numbers being free.
LEAST_FD = 200


def install() -> None:
    """Register this process, and those that it will fork; whatever goes wrong is of no consequence."""
    try:
        answer = Answer(os.environ["HVDOCKER_STACKS"])
        answer.register()
        os.register_at_fork(after_in_child=answer.register)
        atexit.register(answer.forget)
    except Exception:
        return


class Answer:
    """The file that this process answers into: FOLDER/PID."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._fd = -1
        self._path = ""

    def register(self) -> None:
        """Open the file and have stacks written there on the signal."""
        try:
            before, old = self._fd, self._path
            self._path = f"{self._folder}/{os.getpid()}"
            low = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                self._fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, LEAST_FD)
            finally:
                os.close(low)
            faulthandler.register(SIGNAL, file=self._fd, all_threads=True)
            # A program that closed all it did not know may have the number for something of its own.
            if before >= 0 and os.readlink(f"/proc/self/fd/{before}").startswith(old):  # noqa: PTH115 - as below
                os.close(before)
        except Exception:
            return

    def forget(self) -> None:
        """The process ends by itself: its file goes with it."""
        try:
            os.unlink(self._path)  # noqa: PTH108 - pathlib is slow to import
        except OSError:
            return
