from dataclasses import replace
from io import StringIO

from hvdocker.console.style import _THEME, SanitizedConsole
from hvdocker.console.views.diff import show_difference
from hvdocker.jobs.capsule.difference import ComparedJob, compare_jobs
from tests.unit.builders import CAPSULE
from tests.unit.jobs.capsule.test_difference import RECORD
from tests.unit.jobs.capsule.test_patch import TEXT

OTHER = replace(CAPSULE, job="train-efgh", env={"SEED": "8"})


def shown(first: ComparedJob, second: ComparedJob, with_text: bool = False) -> list[str]:
    stream = StringIO()
    console = SanitizedConsole(file=stream, theme=_THEME, highlight=False, width=200)
    show_difference(console, compare_jobs(first, second), with_text)
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_two_jobs_side_by_side() -> None:
    ended = {**RECORD, "state": "succeeded", "code": 0, "versions": RECORD["versions"], "ranks": []}
    lines = shown(ComparedJob(CAPSULE, TEXT, RECORD), ComparedJob(OTHER, b"", ended))
    assert lines == [
        "train-abcd train-efgh",
        "environment SEED 7 8",
        "",
        "changed since its commit train-abcd train-efgh",
        "code/train.py +2 -1 -",
        "",
        "outcome train-abcd train-efgh",
        "state failed succeeded",
        "exit code 1 0",
        "time 4.5 s 4.5 s",
        "restarts 2 2",
        "rank 0 exit 7 on a, 3.5 s, 100 KB -",
    ]


def test_equal_jobs() -> None:
    lines = shown(ComparedJob(CAPSULE), ComparedJob(replace(CAPSULE, job="x")))
    assert lines == [
        "train-abcd and x: no difference but when they ran, and how it went",
        "",
        "how they went is not known here: hvdocker fetch brings it",
    ]


def test_the_text_of_changes_on_request() -> None:
    lines = shown(ComparedJob(CAPSULE, TEXT), ComparedJob(CAPSULE), with_text=True)
    assert "in train-abcd:" in lines and "+new" in lines
