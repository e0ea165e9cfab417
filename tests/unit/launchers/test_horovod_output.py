"""What horovodrun says itself about a rank that failed."""

import pytest

from hvdocker.launchers.horovod_output import without_launcher_traceback
from hvdocker.protocol.output import Line

TRACEBACK = [
    Line("Traceback (most recent call last):"),
    Line('  File "/opt/venv/bin/horovodrun", line 7, in <module>'),
    Line("    sys.exit(run_commandline())"),
]
END = Line("RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing")
RANK = Line("my own error", 1, "b", is_error=True)


@pytest.mark.parametrize(
    "between",
    [RANK, Line("hvdocker: the job is run again"), Line("Process 1 exit with status code 1."), Line("")],
    ids=["a rank", "the supervisor", "its other stream", "an empty line"],
)
def test_the_launchers_traceback_is_not_shown_whatever_falls_between_its_lines(between: Line) -> None:
    shown = [between] if between.rank is not None or between.text.startswith("hvdocker") else []
    for at in range(1, len(TRACEBACK) + 1):
        lines = [*TRACEBACK[:at], between, *TRACEBACK[at:], END, Line("Process name: 1"), Line("Exit code: 1")]
        assert list(without_launcher_traceback(lines)) == shown


def test_another_traceback_of_the_launcher_stays() -> None:
    lines = [*TRACEBACK, Line("ValueError: no such host")]
    assert list(without_launcher_traceback(lines)) == lines
    assert list(without_launcher_traceback(TRACEBACK)) == TRACEBACK
