"""Lets a Python process of a rank write its stacks on a signal, even while it is stuck in a library. It is
active only if HVDOCKER_STACKS names a folder; each process writes to its own file there. A .pth file loads it
into every Python process of a rank, so it must be cheap and must not fail. It serves where the kernel forbids
py-spy to trace."""

import atexit
import faulthandler
import fcntl
import os

# SIGRTMAX - 2, as a number because the signal module is slow to import. No script uses this signal.
SIGNAL = 62
# High, because some programs expect low descriptors to be free.
LEAST_FD = 200


def install() -> None:
    """Register this process and the processes that it forks later. All errors are ignored."""
    try:
        answer = Answer(os.environ["HVDOCKER_STACKS"])
        answer.register()
        os.register_at_fork(after_in_child=answer.register)
        atexit.register(answer.forget)
        if os.environ.get("HVDOCKER_FAIL_FAST") == "1":
            import hvdocker_fail_fast

            hvdocker_fail_fast.install()
    except Exception:
        return


class Answer:
    """The file into which this process writes its stacks: FOLDER/PID."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._fd = -1
        self._path = ""

    def register(self) -> None:
        """Open the file and have faulthandler write the stacks to it on the signal."""
        try:
            before, old = self._fd, self._path
            self._path = f"{self._folder}/{os.getpid()}"
            low = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                self._fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, LEAST_FD)
            finally:
                os.close(low)
            faulthandler.register(SIGNAL, file=self._fd, all_threads=True)
            # A program that closed unknown descriptors may use this number for a file of its own.
            if before >= 0 and os.readlink(f"/proc/self/fd/{before}").startswith(old):  # noqa: PTH115 - as below
                os.close(before)
        except Exception:
            return

    def forget(self) -> None:
        """Remove the file when the process ends normally."""
        try:
            os.unlink(self._path)  # noqa: PTH108 - pathlib is slow to import
        except OSError:
            return
