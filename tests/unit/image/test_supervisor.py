"""What the supervisor makes of the ranks' marks."""

from typing import Any

from inside.job import Job
from inside.supervisor import Ledger, launcher_command


def mark(event: str, rank: int, **more: Any) -> dict[str, Any]:  # Any: JSON
    return {"event": event, "rank": rank, **more}


def test_the_first_failure_is_the_first_to_arrive_whatever_the_clocks_say() -> None:
    ledger = Ledger()
    for rank in (1, 0, 2):
        ledger.add(mark("rank-start", rank, started=5.0))
    ledger.add(mark("rank-exit", 2, code=0, finished=50.0))
    ledger.add(mark("rank-exit", 1, code=3, finished=99.0))
    ledger.add(mark("rank-exit", 0, code=143, finished=7.0))
    assert ledger.first_failure() == {"rank": 1, "code": 3, "finished": 99.0}
    assert [rank["rank"] for rank in ledger.ranks()] == [0, 1, 2]


def test_a_rank_that_never_reported_its_end_has_no_code() -> None:
    ledger = Ledger()
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
    ledger = Ledger()
    ledger.add({"event": "rank-exit", "code": 1})
    ledger.add({})
    assert (ledger.ranks(), ledger.first_failure()) == ([], None)


def test_the_launcher_starts_the_rank_wrapper_in_place_of_the_command() -> None:
    head = "198.18.0.2"
    job = Job("j", "c", "a", head, head, ("python", "t.py"), "/train", {}, ("horovodrun", "-v"), 1, 2)
    wrapper = ["/opt/hvdocker/bin/rank", "j"]
    assert launcher_command(job, "net9") == ["horovodrun", "-v", "--network-interfaces", "net9", *wrapper]
    assert launcher_command(job, None) == ["horovodrun", "-v", *wrapper]


def test_on_one_host_alone_no_interface_is_named() -> None:
    head = "198.18.0.2"
    job = Job("j", "c", "a", head, head, ("python", "t.py"), "/train", {}, ("horovodrun",), 1, host_count=1)
    assert launcher_command(job, "net9") == ["horovodrun", "/opt/hvdocker/bin/rank", "j"]
