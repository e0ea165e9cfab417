"""The entry point: splits off the words after `--`, runs the typer app, and turns errors into exit codes."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from hvdocker.cli.app import app
from hvdocker.cli.process_setup import set_up_process
from hvdocker.cli.usage_errors import ParserError, as_usage_problem
from hvdocker.cli.verb_setup import Invocation
from hvdocker.errors import ExitCode, HvdockerError, UsageProblem

# Errors of a write: the disk or the quota is full, the file is too large, or the device fails.
_WRITE_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
# A name in a path is too long, or links in it lead in a circle.
_PATH_ERRNOS = (errno.ENAMETOOLONG, errno.ELOOP)
# Characters of such a path that are shown.
_MOST_SHOWN = 80
# Words in the place of a verb that mean a flag of the root command.
_FLAG_SYNONYMS = {"version": "--version"}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line `argv`, by default the arguments of this process. Print errors, and raise SystemExit with
    the exit code."""
    if argv is None:
        set_up_process()
    own, rest = split_at_dashes(list(sys.argv[1:] if argv is None else argv))
    is_debug = "--debug" in own
    own = [word for word in own if word != "--debug"]
    own[:1] = [_FLAG_SYNONYMS.get(word, word) for word in own[:1]]
    if not is_debug:
        _silence_loggers()
    if not is_debug and argv is None:
        # Hide errors that file objects of a lost connection raise once more when they are garbage-collected.
        sys.unraisablehook = lambda unraisable: None
    try:
        _check_current_folder()
        code = app(args=own, obj=Invocation(rest), prog_name="hvdocker", standalone_mode=False)
    except ParserError as error:
        _show_error(as_usage_problem(error), error if is_debug else None)
        raise SystemExit(int(ExitCode.USAGE)) from None
    except typer.Abort:
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    except HvdockerError as error:
        _show_error(error, error if is_debug else None)
        raise SystemExit(int(error.exit_code)) from None
    except Exception as error:
        told = _path_error(error) or _write_error(error) or _unexpected_error(error)
        _show_error(told, error if is_debug else None)
        raise SystemExit(int(told.exit_code)) from None
    raise SystemExit(code if isinstance(code, int) else int(ExitCode.OK))


def _silence_loggers() -> None:
    """Stop paramiko from logging the tracebacks of its threads, and hvdocker from logging what only --debug shows.

    No error is lost, because errors that matter are raised as exceptions."""
    import logging

    for name in ("paramiko", "hvdocker"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


def split_at_dashes(argv: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """Return the words before the first `--`, and the words after it.

    The second value is None if there is no `--`, and empty if no word follows the `--`."""
    if "--" not in argv:
        return argv, None
    at = argv.index("--")
    return argv[:at], tuple(argv[at + 1 :])


def _show_error(error: HvdockerError, traced: Exception | None) -> None:
    from hvdocker.console.errors import show_error
    from hvdocker.console.style import err

    if traced is not None:
        import traceback

        err().print("".join(traceback.format_exception(traced)), end="")
    show_error(err(), error)


def _check_current_folder() -> None:
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UsageProblem("the current folder was removed or replaced", fix="cd to a folder that exists") from None


def _path_error(error: Exception) -> HvdockerError | None:
    """Return the error to show if `error` says that the path of a file or folder is none that this machine can have.
    Return None for any other `error`."""
    if not isinstance(error, OSError) or error.errno not in _PATH_ERRNOS:
        return None
    name = str(error.filename or "a path")
    where = name if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]}…"
    return UsageProblem(f"{where}: {error.strerror}", fix="name another file or folder")


def _write_error(error: Exception) -> HvdockerError | None:
    """Return the error to show if this machine could not write a file or stdout, for example because its disk is full.

    `error` is the exception that ended the command. Return None if it has another cause."""
    if not isinstance(error, OSError) or error.errno not in _WRITE_ERRNOS:
        return None
    where = error.filename or "standard output, or a file"
    return HvdockerError(
        f"this machine could not write {where}: {error.strerror}",
        fix="make room there; a job that has started goes on: hvdocker attach shows it to its end",
    )


def _unexpected_error(error: Exception) -> HvdockerError:
    return HvdockerError(
        f"something went wrong that hvdocker did not foresee: {type(error).__name__}: {error}",
        fix="run it again with --debug and report what it prints",
    )
