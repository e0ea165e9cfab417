"""How an error looks: compared whole, without colours."""

import io

import pytest
from rich.console import Console

from hvdocker.console.errors import show_error
from hvdocker.console.style import err
from hvdocker.errors import (
    ExitCode,
    HostErrors,
    HostUnfit,
    HostUnreachable,
    HvdockerError,
    InventoryError,
    NotEnoughSlots,
    UsageProblem,
    gravest_exit_code,
    raise_all,
)


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]):
    def show(error: HvdockerError) -> str:
        show_error(err(), error)
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err

    return show


def test_what_where_the_evidence_and_what_next(shown) -> None:
    error = HostUnfit(
        "no Docker engine is running",
        host="gpu-a",
        command="docker version",
        lines=["Cannot connect to the Docker daemon", "[bold]Is it running?[/]"],
        fix="sudo systemctl start docker",
    )
    assert shown(error) == (
        "error: gpu-a: no Docker engine is running\n"
        "  $ docker version\n"
        "    Cannot connect to the Docker daemon\n"
        "    [bold]Is it running?[/]\n"
        "  → sudo systemctl start docker\n"
    )


def test_a_bare_error_is_one_line(shown) -> None:
    assert shown(HvdockerError("nothing was done")) == "error: nothing was done\n"


def test_equal_failures_are_shown_once_with_all_their_hosts(shown) -> None:
    error = HostErrors(
        "some hosts are not fit",
        [
            HostUnfit("no engine", host="a", command="docker version", lines=["not installed"], fix="install it"),
            HostUnreachable("b:22 refuses connections", host="b", command="ssh b true", fix="is sshd running there?"),
            HostUnfit("no engine", host="c", command="docker version", lines=["not installed"], fix="install it"),
            HostUnfit("no engine", host="d", command="docker version", lines=["another reason"], fix="install it"),
            HvdockerError("nobody's"),
        ],
    )
    assert shown(error) == (
        "error: some hosts are not fit\n"
        "  a, c: no engine\n"
        "    $ docker version\n"
        "      not installed\n"
        "    → install it\n"
        "  b: b:22 refuses connections\n"
        "    $ ssh b true\n"
        "    → is sshd running there?\n"
        "  d: no engine\n"
        "    $ docker version\n"
        "      another reason\n"
        "    → install it\n"
        "  ?: nobody's\n"
    )


def test_problems_of_an_inventory(shown) -> None:
    assert shown(InventoryError("lab.yaml", ["hosts/1/port (line 14): x", "y"])) == (
        "error: lab.yaml has 2 problems\n    hosts/1/port (line 14): x\n    y\n"
    )


def test_long_lines_are_not_broken(shown) -> None:
    command = "ssh gpu-a " + "x" * 500
    assert f"  $ {command}\n" in shown(HvdockerError("x", command=command))


def test_colours_only_on_a_terminal() -> None:
    stream = io.StringIO()
    show_error(Console(file=stream, force_terminal=True, theme=_theme(), color_system="standard"), HvdockerError("x"))
    assert "\x1b[" in stream.getvalue()


def _theme():
    from hvdocker.console.style import _THEME

    return _THEME


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([], ExitCode.ERROR),
        ([ExitCode.ERROR], ExitCode.ERROR),
        ([ExitCode.ERROR, ExitCode.UNFIT], ExitCode.UNFIT),
        ([ExitCode.UNFIT, ExitCode.UNREACHABLE], ExitCode.UNREACHABLE),
        ([ExitCode.NO_SLOTS, ExitCode.LOCKED], ExitCode.LOCKED),
    ],
)
def test_the_worst_of_several_codes(codes: list[ExitCode], code: ExitCode) -> None:
    assert gravest_exit_code(codes) == code


def test_the_codes_that_are_promised() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0, "ERROR": 1, "USAGE": 2, "UNFIT": 3, "UNREACHABLE": 4, "LOCKED": 5, "NO_SLOTS": 6,
        "JOB_FAILED": 100, "JOB_STOPPED": 103, "INTERRUPTED": 130,
    }  # fmt: skip
    kinds = {UsageProblem: 2, HostUnfit: 3, HostUnreachable: 4, NotEnoughSlots: 6}
    assert {kind: int(kind("x").exit_code) for kind in kinds} == kinds


def test_one_error_is_raised_as_itself_and_none_not_at_all() -> None:
    raise_all("x", [])
    with pytest.raises(HostUnfit, match="alone"):
        raise_all("x", [HostUnfit("alone")])
    with pytest.raises(HostErrors, match="x"):
        raise_all("x", [HostUnfit("one"), HostUnfit("two")])


def test_a_host_is_named_once() -> None:
    assert str(HvdockerError("x").at("a").at("b")) == "a: x"
