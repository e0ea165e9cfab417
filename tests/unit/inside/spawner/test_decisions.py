"""The pure parts of the spawner: lines, messages, schedules, the hosts of an elastic job."""

import pytest
from inside.launchers.spawned import ProcessStart, Slot
from inside.spawner import line_collector
from inside.spawner.agent_link import MAX_AGENT_LINE_BYTES
from inside.spawner.control import encode_command, encode_event, ended_event, parse_command, split_events, start_command
from inside.spawner.elastic_hosts import LOSS_DELAY_S, RETRY_S, ElasticHosts
from inside.spawner.line_collector import LineCollector
from inside.spawner.schedule import FirstFailure, Schedule
from inside.spawner.streams import READ_BYTES

from hvdocker.protocol.job_file import Job, JobHost, JobLauncher
from hvdocker.protocol.resilience import Elastic, Resilience

HOSTS = (JobHost("a", "198.18.0.11", 2), JobHost("b", "198.18.0.12", 1))


def test_lines_get_their_header_wherever_they_are_cut() -> None:
    stream = b"one\ntwo\r\nthree\r four"
    for cut in range(len(stream) + 1):
        lines = LineCollector(b"[0]:")
        found = lines.feed(stream[:cut]) + lines.feed(stream[cut:]) + lines.close()
        assert found == b"[0]:one\n[0]:two\r[0]:\n[0]:three\r[0]: four\n"


def test_a_stream_without_line_ends_does_not_fill_the_memory() -> None:
    lines = LineCollector(b"[0]:")
    piece = b"x" * (line_collector.MAX_LINE_BYTES + 1)
    assert lines.feed(piece) == b"[0]:" + piece + b"\n"
    assert lines.close() == b""


def test_every_piece_of_a_long_line_keeps_its_header_on_the_way_to_the_spawner() -> None:
    agent, link = LineCollector(b"[0]:"), LineCollector(most=MAX_AGENT_LINE_BYTES)
    sent = b"x" * (2 * line_collector.MAX_LINE_BYTES + 100) + b"\n"
    found = b""
    for piece in pieces(sent):
        for part in pieces(agent.feed(piece)):
            found += link.feed(part)
    lines = (found + link.close()).splitlines()
    assert len(lines) == 2 and all(line.startswith(b"[0]:x") for line in lines)


def pieces(data: bytes) -> list[bytes]:
    return [data[start : start + READ_BYTES] for start in range(0, len(data), READ_BYTES)]


def test_events_are_taken_out_of_the_lines() -> None:
    event = ended_event(1, 7, None)
    lines = b"[0]<stdout>:one\n" + encode_event(event) + b"[0]<stdout>:\x1dhvdocker {}\n\x1dhvdocker no\n"
    kept, events = split_events(lines)
    assert kept == b"[0]<stdout>:one\n[0]<stdout>:\x1dhvdocker {}\n\x1dhvdocker no\n"
    assert events == [event]


def test_a_command_is_one_line() -> None:
    message = start_command(ProcessStart(1, ("rank", "j"), {"A": "two\nlines"}, 1))
    line = encode_command(message)
    assert line.count(b"\n") == 1
    assert parse_command(line) == message
    assert parse_command(b"no") is parse_command(b"[]") is None


def test_ranks_fill_the_hosts_in_order() -> None:
    schedule = Schedule(HOSTS, 3)
    assert schedule.assign_free_slots() == [(0, Slot("a", 0, 0, 2)), (1, Slot("a", 0, 1, 2)), (2, Slot("b", 1, 0, 1))]
    for key in range(3):
        assert not schedule.is_over
        schedule.end(key, 0)
    assert (schedule.is_over, schedule.code) == (True, 0)


def test_the_first_failure_decides() -> None:
    schedule = Schedule(HOSTS, 3)
    schedule.assign_free_slots()
    schedule.end(1, 7)
    assert schedule.must_end and not schedule.is_over
    schedule.end(0, 143)
    schedule.end(2, 143)
    assert (schedule.is_over, schedule.first) == (True, FirstFailure(1, 7, "a"))


def test_a_waiting_rank_gets_the_next_free_slot() -> None:
    schedule = Schedule(HOSTS, 5, ends_all=False)
    schedule.assign_free_slots()
    assert schedule.assign_free_slots() == []
    schedule.end(2, 5)
    assert schedule.assign_free_slots() == [(3, Slot("b", 1, 0, 1))]
    schedule.end(0, 0)
    assert schedule.assign_free_slots() == [(4, Slot("a", 0, 0, 2))]
    for key in (1, 3, 4):
        schedule.end(key, 0)
    assert (schedule.is_over, schedule.code) == (True, 5)


def test_a_lost_host_takes_its_slots_with_it() -> None:
    schedule = Schedule(HOSTS, 5, ends_all=False)
    schedule.assign_free_slots()
    assert schedule.lose("b") == [2]
    schedule.end(0, 0)
    assert schedule.assign_free_slots() == [(3, Slot("a", 0, 0, 2))]
    assert schedule.lose("a") == [1, 3]
    assert (schedule.is_over, schedule.first) == (True, FirstFailure(2, 255, "b"))


def test_a_lost_host_without_processes_of_ours_is_a_failure_if_all_need_it() -> None:
    """With mpirun the spawner starts nothing on the other hosts."""
    schedule = Schedule((JobHost("a", "198.18.0.11", 1),), 1)
    schedule.assign_free_slots()
    assert schedule.lose("b") == []
    assert schedule.first == FirstFailure(0, 255, "b")


def test_a_host_that_is_lost_before_the_start_keeps_all_from_starting() -> None:
    """Otherwise the ranks of the other hosts would wait for ranks that wait for a slot."""
    schedule = Schedule(HOSTS, 3)
    assert schedule.lose("b") == []
    assert (schedule.assign_free_slots(), schedule.is_over, schedule.code) == ([], True, 255)


def elastic_hosts(min_np: int = 1) -> ElasticHosts:
    resilience = Resilience(elastic=Elastic(min_np, None))
    return ElasticHosts(Job("j", "c", "a", HOSTS, ("x",), "/", JobLauncher("torchrun"), resilience=resilience), 600.0)


def started(hosts: ElasticHosts, listed: tuple[JobHost, ...], version: int, now: float) -> tuple[list[str], list[str]]:
    begun, ended = hosts.update(listed, version, now)
    return [host.name for host in begun], ended


def test_an_elastic_job_uses_the_listed_hosts() -> None:
    hosts = elastic_hosts()
    assert started(hosts, HOSTS[:1], 1, 0.0) == (["a"], [])
    assert started(hosts, HOSTS, 2, 1.0) == (["b"], [])
    assert started(hosts, HOSTS[:1], 3, 2.0) == ([], ["b"])
    hosts.end("b", 143, 2.5)
    hosts.note_closed("b")
    hosts.end("a", 0, 3.0)
    assert hosts.code == 0


def test_a_lost_host_is_used_again_when_the_list_has_changed_or_time_has_passed() -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    assert hosts.lose("b", 1.0)
    assert started(hosts, HOSTS, 1, 2.0) == ([], [])
    assert started(hosts, HOSTS, 2, 3.0) == (["b"], [])
    hosts.lose("b", 4.0)
    assert started(hosts, HOSTS, 2, 4.0 + RETRY_S) == (["b"], [])


def test_a_failure_of_a_host_that_is_then_lost_is_no_failure_of_the_job() -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    hosts.end("b", 1, 1.0)
    hosts.lose("b", 2.0)
    started(hosts, HOSTS, 1, 1.0 + LOSS_DELAY_S)
    assert not hosts.is_over


def test_a_job_that_succeeds_while_a_host_is_still_leaving_ends_with_that_host() -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    assert started(hosts, HOSTS[:1], 2, 1.0) == ([], ["b"])
    hosts.end("a", 0, 2.0)
    assert not hosts.is_over
    hosts.note_closed("b")
    assert hosts.code == 0


@pytest.mark.parametrize("is_success_first", [False, True])
def test_a_host_whose_program_failed_and_that_left_then_is_closed(is_success_first: bool) -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    if is_success_first:
        hosts.end("a", 0, 0.5)
    hosts.end("b", 1, 1.0)
    assert started(hosts, HOSTS[:1], 2, 2.0) == ([], ["b"])
    hosts.note_closed("b")
    if not is_success_first:
        hosts.end("a", 0, 3.0)
    assert hosts.code == 0


@pytest.mark.parametrize("is_success_first", [False, True])
def test_a_host_that_joins_when_the_others_succeed_does_not_make_the_job_fail(is_success_first: bool) -> None:
    """torchrun (2.13) on that host ends with code 1: the rendezvous is closed."""
    hosts = elastic_hosts()
    started(hosts, HOSTS[:1], 1, 0.0)
    started(hosts, HOSTS, 2, 1.0)
    ends = [("b", 1, 2.0, False), ("a", 0, 2.5, True)]
    for end in reversed(ends) if is_success_first else ends:
        hosts.end(*end)
    started(hosts, HOSTS, 2, 10.0)
    assert hosts.code == 0


def test_a_host_that_never_gets_ranks_makes_the_job_fail_if_no_other_succeeds() -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    hosts.end("b", 9, 1.0, had_ranks=False)
    started(hosts, HOSTS, 1, 1.0 + LOSS_DELAY_S)
    assert hosts.code == 9


def test_a_failure_of_a_host_that_stays_ends_the_job() -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    hosts.end("b", 9, 1.0)
    assert hosts.due() == 1.0 + LOSS_DELAY_S
    started(hosts, HOSTS, 1, 1.0 + LOSS_DELAY_S)
    assert hosts.code == 9


def test_too_few_slots_end_the_programs_until_there_are_enough() -> None:
    hosts = elastic_hosts(min_np=3)
    started(hosts, HOSTS, 1, 0.0)
    hosts.lose("b", 1.0)
    assert started(hosts, HOSTS[:1], 2, 2.0) == ([], ["a"])
    hosts.note_closed("a")
    assert started(hosts, HOSTS, 3, 3.0) == (["a", "b"], [])


def test_a_job_does_not_wait_for_hosts_without_limit() -> None:
    hosts = elastic_hosts(min_np=3)
    started(hosts, HOSTS[:1], 1, 0.0)
    started(hosts, HOSTS[:1], 1, 599.0)
    assert not hosts.is_over
    started(hosts, HOSTS[:1], 1, 600.0)
    assert hosts.code == 1


@pytest.mark.parametrize("host", ["a"])
def test_without_the_head_the_job_has_failed(host: str) -> None:
    hosts = elastic_hosts()
    started(hosts, HOSTS, 1, 0.0)
    hosts.lose(host, 1.0)
    assert hosts.code == 255
