"""What the benchmark prints and writes, and which rows are chosen."""

import json
import re
from pathlib import Path

import pytest

from bench.benchmark import Bar, Benchmark, Row, select_benchmarks
from bench.measure import Measured, evaluate_row
from bench.rows import BENCHMARKS
from bench.show import keep, plot, read_kept, table, write_json


def measured(row: Row, samples: dict[str, list[float]]) -> Measured:
    return evaluate_row(Benchmark("x", lambda ground: pytest.fail("not prepared here"), (row,)), row, samples)


UP = measured(Row("up, 8 hosts", "pyinfra", "a", "b", Bar(0.9)), {"a": [1.2] * 8, "b": [2.4] * 8})
FILE = measured(
    Row("a large file", "ssh", "a", "b", Bar(0.65, is_floor=True), unit="MB/s"), {"a": [150.0] * 8, "b": [400.0] * 8}
)
ALONE = measured(Row("placement", "nobody", "a", None, Bar(1.0)), {"a": [0.0123] * 8})


STEADY = measured(Row("steady", "by hand", "a", "b", Bar(0.98, is_floor=True)), {"a": [0.9, 1.0], "b": [1.0, 1.0]})
BEFORE = {("up, 8 hosts", "pyinfra"): 0.4}


def test_the_table() -> None:
    assert table([UP, FILE, ALONE, STEADY], BEFORE).splitlines() == [
        "row           against      ours    theirs  ratio       interval      before     bar",
        "up, 8 hosts   pyinfra     1.2 s     2.4 s    0.5        0.5–0.5  0.4 (+25%)   ≤ 0.9  met",
        "a large file  ssh      150 MB/s  400 MB/s  0.375    0.375–0.375              ≥ 0.65  missed",
        "placement     nobody   0.0123 s                   0.0123–0.0123               ≤ 1 s  met",
        "steady        by hand    0.95 s       1 s   0.95          0.9–1              ≥ 0.98  undecided after 2 rounds",
    ]


def test_the_json_says_the_same_and_on_which_machine(tmp_path: Path) -> None:
    path = tmp_path / "results" / "bench.json"
    write_json([UP, FILE], path)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert set(written["machine"]) == {"cpus", "memory_gb", "kernel", "python"}
    first, second = written["rows"]
    assert (first["ratio"], first["interval"], first["verdict"]) == (0.5, [0.5, 0.5], "met")
    assert (second["unit"], second["limit"], second["verdict"]) == ("MB/s", 0.65, "missed")


def test_a_run_is_compared_with_the_kept_results_of_each_row(tmp_path: Path) -> None:
    results, kept = tmp_path / "bench.json", tmp_path / "kept.json"
    assert read_kept(kept) == {}
    write_json([UP, FILE], results)
    keep(results, kept)
    faster = measured(Row("up, 8 hosts", "pyinfra", "a", "b", Bar(0.9)), {"a": [0.6] * 8, "b": [2.4] * 8})
    write_json([faster], results)
    keep(results, kept)
    assert read_kept(kept) == {("up, 8 hosts", "pyinfra"): 0.25, ("a large file", "ssh"): 0.375}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 0", None),
        ("echo first >&2; echo no matplotlib >&2; exit 1", "no matplotlib"),
        ("exit 3", "it ended with 3"),
    ],
)
def test_a_plot_that_fails_says_why(tmp_path: Path, script: str, why: str | None) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    assert plot(tmp_path / "results.json", tmp_path / "plot.png", tmp_path) == why


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("help", ["help"]),
        ("up", ["up", "up-again"]),
        ("connect, call", ["connect-1", "connect-8", "call"]),
        ("sync", ["sync-again", "sync-first", "sync-large", "sync-large-8", "sync-large-cpu"]),
        ("quick", ["help", "placement", "connect-1", "connect-8", "container", "call", "up-again", "launch"]),
        ("", [contest.key for contest in BENCHMARKS]),
    ],
)
def test_rows_are_chosen_by_the_beginning_of_their_keys(words: str, keys: list[str]) -> None:
    assert [contest.key for contest in select_benchmarks(BENCHMARKS, words)] == keys


def test_a_row_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(SystemExit, match=r"no row begins with nope; there are help, .*ship-change"):
        select_benchmarks(BENCHMARKS, "up,nope")


def test_every_row_of_every_contest_is_its_own() -> None:
    lines = [(row.name, row.against) for contest in BENCHMARKS for row in contest.rows]
    assert len(lines) == len(set(lines))
    assert len({contest.key for contest in BENCHMARKS}) == len(BENCHMARKS)


def test_every_preparation_says_what_both_sides_do() -> None:
    silent = [contest.key for contest in BENCHMARKS if not re.search(r"\w+ \w+", contest.setup.__doc__ or "")]
    assert silent == []
