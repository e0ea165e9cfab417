"""The last words of ranks, read from files that a real shell looks at."""

from pathlib import Path

from hvdocker.jobs.log.rank_logs import RankLogTail, read_rank_log_tails, tail_rank_logs
from hvdocker.transport.local_link import LocalLink


def asked(folder: Path, count: int = 2) -> list[RankLogTail]:
    result = LocalLink("a").run(tail_rank_logs(str(folder), count))
    assert result.code == 0
    return read_rank_log_tails(result.text)


def test_every_ranks_last_lines_and_its_last_start(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "rank-0.log").write_text(
        "hvdocker: rank 0 on a, start 0, 2026-11-17 08:00:00 UTC\nbegun\n"
        "hvdocker: rank 0 on a, start 1, 2026-11-17 08:01:00 UTC\none\ntwo\nthree"
    )
    (logs / "rank-1.log").write_text("")
    (logs / "rank-12.log").write_text("hvdocker: rank 12 on a, start 0, now\n\nonly words\n")
    (logs / "rank-0.log.1").write_text("older\n")
    (logs / "output.log").write_text("everything\n")
    assert asked(tmp_path) == [
        RankLogTail(0, 1, ("two", "three")),
        RankLogTail(1, None, ()),
        RankLogTail(12, 0, ("only words",)),
    ]


def test_a_folder_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert asked(tmp_path / "nowhere") == []
    (tmp_path / "logs").mkdir()
    assert asked(tmp_path) == []
