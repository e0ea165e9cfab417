"""What the supervisor makes of the ranks' marks."""

from typing import Any

from inside.supervisor.rank_states import RankStates


def mark(event: str, rank: int, **more: Any) -> dict[str, Any]:  # Any: JSON
    return {"event": event, "rank": rank, **more}


def test_the_first_failure_is_the_first_to_arrive_whatever_the_clocks_say() -> None:
    ledger = RankStates()
    for rank in (1, 0, 2):
        ledger.add(mark("rank-start", rank, started=5.0))
    ledger.add(mark("rank-exit", 2, code=0, finished=50.0))
    ledger.add(mark("rank-exit", 1, code=3, finished=99.0))
    ledger.add(mark("rank-exit", 0, code=143, finished=7.0))
    assert ledger.first_failure() == {"rank": 1, "code": 3, "finished": 99.0}
    assert [rank["rank"] for rank in ledger.ranks()] == [0, 1, 2]


def test_a_rank_that_never_reported_its_end_has_no_code() -> None:
    ledger = RankStates()
    ledger.add(mark("rank-start", 0, host="a", started=5.0))
    assert ledger.first_failure() is None
    assert ledger.ranks() == [
        {
            "rank": 0,
            "host": "a",
            "started": 5.0,
            "code": None,
            "signal": None,
            "seconds": None,
            "max_rss_kb": None,
            "finished": None,
        }
    ]


def test_a_mark_that_no_rank_sent_is_ignored() -> None:
    ledger = RankStates()
    ledger.add({"event": "rank-exit", "code": 1})
    ledger.add({})
    assert (ledger.ranks(), ledger.first_failure()) == ([], None)


def test_ranks_live_until_their_end_or_that_of_their_host() -> None:
    ledger = RankStates()
    for rank, host in ((0, "a"), (1, "b"), (2, "c")):
        ledger.add(mark("rank-start", rank, host=host))
    ledger.add(mark("rank-exit", 2, host="c", code=0))
    assert ledger.living() == [(0, "a"), (1, "b")]
    ledger.lose("b")
    assert ledger.living() == [(0, "a")]
    assert (ledger.hosts(), ledger.ranks_on("b")) == (["a", "b", "c"], [1])


def test_two_ranks_with_one_number_are_kept_apart() -> None:
    """Under Horovod Elastic a process keeps the number that it was started with."""
    ledger = RankStates()
    ledger.add(mark("rank-start", 2, host="c"))
    assert ledger.host_of(2) == "c"
    ledger.add(mark("rank-start", 2, host="b"))
    assert ledger.host_of(2) is None
    ledger.add(mark("rank-exit", 2, host="c", code=0))
    assert ledger.host_of(2) == "b"
    ledger.lose("b")
    assert ledger.host_of(2) == "b"
    assert [rank["host"] for rank in ledger.ranks()] == ["c", "b"]
    assert ledger.host_of(7) is None


def test_before_its_start_a_rank_is_where_it_is_expected() -> None:
    ledger = RankStates({0: "a", 1: "b"})
    assert (ledger.host_of(1), ledger.living()) == ("b", [])
    ledger.add(mark("rank-start", 1, host="c"))
    assert ledger.host_of(1) == "c"


def test_who_follows_another_is_not_the_first_to_fail() -> None:
    ledger = RankStates()
    ledger.note_consequence(1)
    ledger.add(mark("rank-exit", 1, code=1, signal=None))
    assert ledger.first_failure() == {"rank": 1, "code": 1, "signal": None}
    ledger.add(mark("rank-exit", 2, code=143, signal=15))
    ledger.add(mark("rank-exit", 0, code=28, signal=None))
    assert ledger.first_failure() == {"rank": 0, "code": 28, "signal": None}


def test_what_a_rank_told_when_it_began_is_known_at_its_end() -> None:
    ledger = RankStates()
    ledger.add(mark("rank-start", 0, host="a", interface="net9"))
    ledger.add(mark("rank-exit", 0, host="a", code=0))
    (end,) = ledger.ranks()
    assert (end["interface"], end["code"]) == ("net9", 0)


def test_a_process_that_ends_late_does_not_end_the_one_that_has_its_number_now() -> None:
    ledger = RankStates()
    ledger.add(mark("rank-start", 1, host="b", started=1.0))
    ledger.add(mark("rank-start", 1, host="b", started=2.0))
    ledger.add(mark("rank-exit", 1, host="b", started=1.0, code=143))
    assert ledger.living() == [(1, "b")]
    assert [end["code"] for end in ledger.ranks()] == [None]


def test_what_an_elastic_job_has_survived_is_not_why_it_fails() -> None:
    ledger = RankStates(first_np=2)
    ledger.add(mark("rank-start", 0, host="a", started=1.0))
    ledger.add(mark("rank-start", 1, host="b", started=1.0))
    ledger.note_consequence(0)
    ledger.add(mark("rank-exit", 1, host="b", code=137, signal=9, started=1.0))
    assert (ledger.first_failure() or {})["rank"] == 1
    ledger.add(mark("rank-start", 1, host="c", started=2.0))
    assert ledger.first_failure() is None
    assert [end["code"] for end in ledger.ranks()] == [None, 137, None]
    ledger.add(mark("rank-exit", 1, host="c", code=143, signal=15, started=2.0))
    ledger.add(mark("rank-exit", 0, host="a", code=7, signal=None, started=1.0))
    assert (ledger.first_failure() or {})["rank"] == 0


def test_a_rank_that_is_slow_to_start_excuses_nobody() -> None:
    for ledger in (RankStates(first_np=3), RankStates({0: "a", 1: "b"})):
        ledger.add(mark("rank-start", 0, host="a"))
        ledger.add(mark("rank-exit", 0, host="a", code=1))
        ledger.add(mark("rank-start", 1, host="b"))
        assert (ledger.first_failure() or {})["rank"] == 0


def test_a_host_is_lost_until_it_has_a_rank_again() -> None:
    ledger = RankStates(first_np=3)
    for rank, host in enumerate("abc"):
        ledger.add(mark("rank-start", rank, host=host))
    ledger.lose("b", 10.0)
    ledger.lose("b", 20.0)
    assert (ledger.lost_before(10.0), ledger.lost_before(11.0)) == (set(), {"b"})
    ledger.lose("c", 30.0)
    ledger.add(mark("rank-start", 1, host="b"))
    assert ledger.lost_before(0.0) == {"c"}


def test_what_a_rank_was_asked_for_is_not_its_own_failure() -> None:
    ledger = RankStates()
    for rank, host in enumerate("ab"):
        ledger.add(mark("rank-start", rank, host=host))
    asked = mark("rank-exit", 0, host="a", code=1, signal=None, asked=True)
    ledger.add(asked)
    assert not ledger.is_root_failure(asked)
    own = mark("rank-exit", 1, host="b", code=3, signal=None, asked=False)
    ledger.add(own)
    assert ledger.is_root_failure(own)
    assert (ledger.first_failure() or {})["rank"] == 1


def test_what_failed_on_a_host_that_was_dropped_is_not_why_the_job_fails_later() -> None:
    ledger = RankStates(first_np=3)
    for rank, host in enumerate("abc"):
        ledger.add(mark("rank-start", rank, host=host))
    ledger.add(mark("rank-exit", 1, host="b", code=3, signal=None))
    ledger.drop("b")
    assert (ledger.first_failure() or {})["rank"] == 1, "as long as nothing else has failed"
    ledger.add(mark("rank-exit", 0, host="a", code=7, signal=None))
    assert (ledger.first_failure() or {})["rank"] == 0


def test_a_rank_of_which_only_the_launcher_tells() -> None:
    ledger = RankStates({0: "a", 1: "b"})
    ledger.add(mark("rank-start", 0, host="a"))
    ledger.note_failed(1, 137)
    assert ledger.first_failure() is None, "it never started"
    ledger.add(mark("rank-start", 1, host="b"))
    ledger.note_failed(1, 255)
    assert (ledger.vanished_host(), ledger.first_failure()) == ("b", None)
    ledger.note_failed(1, 137)
    assert ledger.first_failure() == {"rank": 1, "host": "b", "code": 137, "signal": 9}
    assert (ledger.vanished_host(), ledger.living()) == (None, [(0, "a")])


def test_a_rank_that_raised_and_never_told_its_end_is_suspect_where_others_only_followed() -> None:
    ledger = RankStates()
    for rank, host in enumerate("abc"):
        ledger.add(mark("rank-start", rank, host=host))
    ledger.note_exception(1, 100.0)
    assert ledger.suspected_cause(101.0) is None, "nobody has failed"
    for rank in (0, 2):
        ledger.note_exception(rank, 100.5)
        ledger.note_consequence(rank)
    ledger.add(mark("rank-exit", 0, host="a", code=1, signal=None))
    assert ledger.suspected_cause(101.0) == (1, "b")
    assert ledger.suspected_cause(161.0) is None, "what it said long ago was something else"
    ledger.add(mark("rank-exit", 1, host="b", code=1, signal=None))
    assert ledger.suspected_cause(101.0) is None, "it told its end"


def test_a_rank_that_raised_and_was_then_asked_to_end_is_the_cause() -> None:
    """The others failed of it and ended sooner, so the launcher asked it to end while it shut down."""
    ledger = RankStates()
    for rank, host in enumerate("ab"):
        ledger.add(mark("rank-start", rank, host=host))
    ledger.note_exception(0, 100.0)
    ledger.note_exception(1, 100.5)
    ledger.note_consequence(1)
    ledger.add(mark("rank-exit", 1, host="b", code=1, signal=None))
    assert ledger.ended_after_exception(101.0) is None, "it has not ended yet"
    ledger.add(mark("rank-exit", 0, host="a", code=143, signal=15, asked=True))
    found = ledger.ended_after_exception(101.0)
    assert found is not None and found["rank"] == 0
    assert ledger.ended_after_exception(161.0) is None, "what it said long ago was something else"
    ledger.add(mark("rank-exit", 2, host="c", code=7, signal=None))
    assert ledger.ended_after_exception(101.0) is None, "another rank failed by itself"
