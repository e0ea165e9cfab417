"""Whose line it is, where the placement does not tell."""

import pytest
from inside.launchers import named
from inside.launchers.host_prefix import HostPrefix
from inside.supervisor.mark_filter import MarkFilter

from hvdocker.protocol.job_file import JobHost

JOB_HOSTS = (JobHost("a", "198.18.0.2", 1), JobHost("b", "198.18.0.3", 2))


def passed(hosts: dict[int, str | None], *pieces: bytes) -> bytes:
    out: list[bytes] = []
    stream = MarkFilter(out.append, lambda mark: None, named("horovod"), HostPrefix(JOB_HOSTS, hosts.get))
    for piece in pieces:
        stream.feed(piece)
    stream.close()
    return b"".join(out)


def test_a_line_stays_as_it_is_where_ranks_are_as_placed() -> None:
    text = b"[0]<stdout>:one\n[2]<stderr>:two\nthe launcher\n"
    assert passed({0: "a", 1: "b", 2: "b"}, text) == text


@pytest.mark.parametrize("cut", range(1, 40))
def test_another_host_is_named_however_the_stream_is_cut(cut: int) -> None:
    text = b"[1]<stdout>:a long line of one rank\n[1]<stderr>:x\r[1]<stderr>:y\n"
    wanted = b"[1@c]<stdout>:a long line of one rank\n[1@c]<stderr>:x\r[1@c]<stderr>:y\n"
    assert passed({1: "c"}, text[:cut], text[cut:]) == wanted


def test_where_two_answer_to_a_number_nobody_is_named() -> None:
    assert passed({1: None}, b"[1]<stdout>:who\n") == b"[1@?]<stdout>:who\n"


def test_with_a_date_in_front() -> None:
    date = b"Tue Nov 17 10:11:12 2026"
    assert passed({0: "z"}, date + b"[0]<stdout>:now\n") == b"[0@z]<stdout>:now\n"
