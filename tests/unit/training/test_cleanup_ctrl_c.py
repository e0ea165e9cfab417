"""Ctrl-C while something is given back: the first is answered, the second leaves."""

import os
import signal
import threading

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.training.cleanup_ctrl_c import SecondCtrlC, finish_despite_ctrl_c


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_one_ctrl_c_is_answered_and_the_work_is_done() -> None:
    answered, done = threading.Event(), []

    def work() -> None:
        press()
        assert answered.wait(10)
        done.append(True)

    finish_despite_ctrl_c(work, answered.set)
    assert done == [True]


def test_a_second_one_leaves() -> None:
    answered, over = threading.Event(), threading.Event()

    def work() -> None:
        press()
        assert answered.wait(10)
        press()
        over.wait(10)

    with pytest.raises(SecondCtrlC):
        finish_despite_ctrl_c(work, answered.set)
    over.set()


def test_what_the_work_raises_is_raised() -> None:
    def work() -> None:
        raise HvdockerError("no")

    with pytest.raises(HvdockerError, match="no"):
        finish_despite_ctrl_c(work, lambda: None)
