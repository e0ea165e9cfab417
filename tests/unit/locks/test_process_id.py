"""A process is known again, and known to be gone only where that is sure."""

import os
import signal
import subprocess

import pytest

from hvdocker.locks.process_id import has_process_ended, own_process_id
from hvdocker.transport.local_process import exec_program


def test_this_process_is_here() -> None:
    assert own_process_id().split(" ")[2] == str(os.getpid())
    assert not has_process_ended(own_process_id())


def test_one_that_has_ended_is_gone() -> None:
    child = subprocess.Popen(["true"])
    boot, space, _, start = own_process_id().split(" ")
    child.wait()
    assert has_process_ended(f"{boot} {space} {child.pid} {start}")


def test_a_number_that_was_given_again_is_another_process() -> None:
    boot, space, number, start = own_process_id().split(" ")
    assert has_process_ended(f"{boot} {space} {number} {int(start) + 1}")


def test_of_others_nobody_here_knows() -> None:
    boot, space, _, start = own_process_id().split(" ")
    for process in (
        "",
        "?",
        f"other {space} 999999999 {start}",
        f"{boot} pid:[1] 999999999 {start}",
        "a b c d",
    ):
        assert not has_process_ended(process)


def test_a_program_that_is_not_there_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGPIPE)
    with pytest.raises(FileNotFoundError):
        exec_program(["no-such-program-at-all"])
    assert signal.getsignal(signal.SIGPIPE) == before == signal.SIG_IGN
