"""Stacks, and the rank that stands out by them."""

import faulthandler
import tempfile

import pytest
from inside.hang.bundle import rank_stack
from inside.hang.frames import Frame, main_frames
from inside.hang.odd_rank import OddRank, RankStack, odd_rank
from inside.launchers import named

HOROVOD = named("horovod")

PY_SPY = """\
Process 77: python /train/train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 77 (idle): "MainThread"
    synchronize (horovod/torch/mpi_ops.py:900)
    <module> (train.py:40)
Thread 81 (active): "Thread-1 (work)"
    wait (threading.py:320)
"""
DUMP = """\
Thread 0x00007f36f9fff6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Current thread 0x00007f3700000740 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "/train/train.py", line 40 in <module>
"""
WAITS = (Frame("synchronize", "/opt/venv/lib/horovod/torch/mpi_ops.py", 900),)
EXECUTES = (Frame("quick_execute", "/x/tensorflow/python/eager/execute.py", 53),)
LOADS = (Frame("load", "/train/data.py", 12), Frame("main", "/train/train.py", 3))
SAVES = (Frame("save", "/train/train.py", 70),)


def stacks(*frames: tuple[Frame, ...]) -> list[RankStack]:
    return [RankStack(rank, f"h{rank}", some, "" if some else "silent") for rank, some in enumerate(frames)]


def test_py_spy_is_read_from_the_main_thread() -> None:
    first, second = main_frames(PY_SPY)
    assert first == Frame("synchronize", "horovod/torch/mpi_ops.py", 900)
    assert str(second) == "<module> at train.py:40"


def test_faulthandler_is_read_from_the_thread_that_has_the_signal() -> None:
    assert [str(frame) for frame in main_frames(DUMP)] == [
        "quick_execute at execute.py:53",
        "<module> at train.py:40",
    ]


def test_what_faulthandler_really_writes_is_understood() -> None:
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        first = main_frames(file.read())[0]
    assert (first.function, first.file) == ("test_what_faulthandler_really_writes_is_understood", __file__)


def test_of_several_processes_the_first_one_counts() -> None:
    text = (
        f"process 7 (S): sh\nit is not a Python process\n\nprocess 8 (S): python\n{DUMP}\nprocess 9: python\n{PY_SPY}"
    )
    assert main_frames(text)[0].function == "quick_execute"


@pytest.mark.parametrize("first", [DUMP.replace("Current thread", "Thread"), PY_SPY.replace(': "MainThread"', "")])
def test_a_main_thread_that_is_not_marked_is_found_in_the_first_process(first: str) -> None:
    worker = PY_SPY.replace("synchronize", "fetch")
    for second in (worker, worker.replace(': "MainThread"', "")):
        frames = main_frames(f"process 7 (S): python train.py\n{first}\nprocess 8 (S): python worker.py\n{second}")
        assert frames[0].function in ("quick_execute", "synchronize")


def test_what_is_no_stack_has_no_frames() -> None:
    assert main_frames("Permission denied\n") == main_frames("") == ()


def test_of_many_ranks_the_one_that_differs_is_odd() -> None:
    found = odd_rank(stacks(EXECUTES, EXECUTES, LOADS, EXECUTES), HOROVOD)
    assert found == OddRank(2, "h2", "it is in load at data.py:12, 3 of 4 are in quick_execute at execute.py:53")


def test_of_several_that_differ_it_is_one_that_waits_for_nobody() -> None:
    found = odd_rank(stacks(EXECUTES, WAITS, EXECUTES, EXECUTES, SAVES), HOROVOD)
    assert found is not None and found.rank == 4


def test_of_two_the_one_outside_a_collective_is_odd() -> None:
    found = odd_rank(stacks(LOADS, WAITS), HOROVOD)
    assert found == OddRank(0, "h0", "it is in load at data.py:12, and others wait for all ranks")


def test_where_nothing_tells_them_apart_nobody_is_odd() -> None:
    assert odd_rank(stacks(WAITS, WAITS, WAITS), HOROVOD) is None
    assert odd_rank(stacks(WAITS, EXECUTES), HOROVOD) is None
    assert odd_rank(stacks(LOADS, SAVES), HOROVOD) is None
    assert odd_rank(stacks((), ()), HOROVOD) is None
    assert odd_rank([], HOROVOD) is None


def test_a_rank_without_a_stack_is_odd_first() -> None:
    assert odd_rank(stacks(LOADS, WAITS, ()), HOROVOD, missing={0}) == OddRank(2, "h2", "silent")


def test_whom_horovod_waits_for_is_odd() -> None:
    assert odd_rank(stacks(EXECUTES, EXECUTES, LOADS), HOROVOD, missing={1}) == OddRank(1, "h1", "Horovod waits for it")
    assert odd_rank(stacks(WAITS, WAITS), HOROVOD, missing={0, 1}) is None


def test_what_a_host_says_of_its_ranks_is_taken_with_care() -> None:
    answer = {"ranks": [None, {"rank": 1, "how": "none", "text": ""}, {"rank": 2, "text": DUMP}]}
    assert str(rank_stack(2, "b", answer)) == "rank 2@b: quick_execute at execute.py:53"
    assert str(rank_stack(1, "b", answer)) == "rank 1@b: it gives no stack"
    assert str(rank_stack(0, "b", answer)) == "rank 0@b: it gives no stack"
    assert str(rank_stack(0, "b", None)) == "rank 0@b: its host does not answer"
