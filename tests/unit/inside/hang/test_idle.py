"""What counts as a sign of life."""

from typing import Any

import pytest
from inside.hang.idle import IdleTimer
from inside.launchers import named

WARNING = "[2024-05-05 10:00:00.1: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted"


def beat(rank: int, cpu_s: float, out_bytes: int = 0) -> dict[str, Any]:  # Any: JSON
    return {"event": "rank-beat", "rank": rank, "host": "h", "cpu_s": cpu_s, "out_bytes": out_bytes}


@pytest.mark.parametrize(("cpu_s", "since"), [(0.0, 0.0), (0.24, 0.0), (0.25, 10.0), (20.0, 10.0)])
def test_a_rank_is_idle_below_a_twentieth_of_a_core(cpu_s: float, since: float) -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    silence.beat(beat(0, 100.0), 5.0)
    silence.beat(beat(0, 100.0 + cpu_s), 10.0)
    assert silence.since == since


def test_horovods_own_cycle_is_no_work() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    for now in (5.0, 10.0, 15.0):
        silence.beat({**beat(0, now), "work_s": 0.01 * now}, now)
    assert silence.since == 0.0


def test_one_busy_rank_is_enough() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    for now in (5.0, 10.0, 15.0):
        silence.beat(beat(0, 1.0), now)
        silence.beat(beat(1, now), now + 0.1)
    assert silence.since == 15.1


def test_beats_that_were_held_up_do_not_look_busy() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    for cpu_s, now in ((1.0, 5.0), (1.1, 10.0), (1.2, 10.001), (1.3, 15.0)):
        silence.beat(beat(0, cpu_s), now)
    assert silence.since == 0.0


def test_also_a_part_of_a_line_is_output() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    silence.beat(beat(0, 1.0, out_bytes=10), 5.0)
    assert silence.since == 0.0
    silence.beat(beat(0, 1.0, out_bytes=11), 10.0)
    assert silence.since == 10.0


def test_the_output_of_a_rank_that_started_again_is_counted_from_nothing() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    silence.beat(beat(0, 1.0, out_bytes=1000), 5.0)
    silence.start({"event": "rank-start", "rank": 0, "host": "h"})
    silence.beat(beat(0, 0.0, out_bytes=10), 10.0)
    assert silence.since == 0.0
    silence.beat(beat(0, 0.0, out_bytes=11), 15.0)
    assert silence.since == 15.0


def test_horovods_complaint_of_a_stall_is_no_output_and_names_who_is_missing() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    out = 0
    for now in (60.0, 120.0):
        for line in (WARNING, "Missing ranks:", "1: [grads/a, grads/b ...]", "3!: [grads/a]"):
            silence.note_line(0, line, now)
            out += len(line) + 1
        silence.beat(beat(0, 1.0, out), now + 1)
    assert (silence.since, silence.missing) == (0.0, {1, 3})
    silence.note_line(0, "step 7", 130.0)
    assert (silence.since, silence.missing) == (130.0, set())


def test_a_beat_that_overtakes_a_complaint_counts_once_at_most() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    silence.beat(beat(0, 1.0, 0), 1.0)
    out = 0
    for now in (60.0, 120.0, 180.0):
        out += len(WARNING) + 1
        silence.beat(beat(0, 1.0, out), now)
        silence.note_line(0, WARNING, now + 0.1)
    assert silence.since == 60.0


def test_what_looks_like_a_complaint_but_stands_alone_is_output() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    silence.note_line(0, "1: [0.5, 0.25]", 9.0)
    assert (silence.since, silence.missing) == (9.0, set())


def test_a_beat_that_lacks_something_is_ignored() -> None:
    silence = IdleTimer(0.0, named("horovod").stall_reader())
    silence.beat({"event": "rank-beat", "rank": 0, "host": "h", "cpu_s": None, "out_bytes": 3}, 5.0)
    assert silence.since == 0.0
