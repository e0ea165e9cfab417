"""What the doctor says, as a person sees it."""

import pytest

from hvdocker.console.style import out
from hvdocker.console.views.doctor import GROUPS, show_report
from hvdocker.doctor.report import DoctorReport, Finding, HostReport, Mark, PairReport

GOOD = (Finding("login", Mark.GOOD, "as ada"), Finding("clock", Mark.GOOD, "within 0.01 s"))
RED = Finding(
    "engine",
    Mark.BAD,
    "no Docker engine is running",
    ("docker is not installed",),
    "docker version",
    "install it",
)
YELLOW = Finding("memory", Mark.WARN, "only 1 GB free")
GREY = Finding("image", Mark.UNKNOWN, "not there yet", fix="hvdocker image push")


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]):
    def read(report: DoctorReport, is_verbose: bool = False) -> list[str]:
        show_report(out(), report, is_verbose)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return read


def pair(start: str, end: str, *findings: Finding) -> PairReport:
    return PairReport(start, end, findings or (Finding("ssh", Mark.GOOD, "ok"), Finding("rtt", Mark.GOOD, "0.2 ms")))


def cells(line: str) -> list[str]:
    return line.split()


def test_a_healthy_cluster_is_a_table_and_a_sentence(said) -> None:
    report = DoctorReport("lab", (HostReport("a", GOOD), HostReport("b", GOOD)))
    lines = said(report)
    assert cells(lines[1]) == ["host", *GROUPS]
    assert cells(lines[2]) == ["a", "ok", "·", "·", "·", "ok", *["·"] * 7]
    assert lines[-1] == "2 hosts are fit to train" and len(lines) == 6


def test_the_table_fits_a_small_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console = out()
    console.width = 80
    show_report(console, DoctorReport("lab", (HostReport("h1", GOOD), HostReport("gpu-node-17", GOOD))))
    assert max(len(line.rstrip()) for line in capsys.readouterr().out.splitlines()) <= 80


@pytest.mark.parametrize("width", range(74, 90))
def test_columns_come_closer_before_one_is_left_out(capsys: pytest.CaptureFixture[str], width: int) -> None:
    console = out()
    console.width = width
    show_report(console, DoctorReport("lab", (HostReport("w1", (*GOOD, YELLOW)),)))
    assert "no problem on any host" not in capsys.readouterr().out


@pytest.mark.parametrize("width", [24, 60])
def test_a_narrow_terminal_cuts_no_host_and_no_verdict(capsys: pytest.CaptureFixture[str], width: int) -> None:
    long = "gpu-node-17.cluster.example.org"
    hosts = (HostReport("h1", (*GOOD, RED)), HostReport(long, (*GOOD, YELLOW)))
    console = out()
    console.width = width
    show_report(console, DoctorReport("lab", hosts, (pair("h1", long), pair(long, "h1"))), is_verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert "…" not in "".join(lines)
    assert [cells(line)[:3] for line in lines[1:4]] == [
        ["host", "engine", "machine"],
        ["h1", "BAD", "·"],
        [long, "·", "warn"],
    ]
    assert "no problem on any host: ssh, disk, clock, gpu, limits, port, image, code" in lines[4]
    assert ["from", "\\", "to", "h1", long] in map(cells, lines)
    assert ["h1", "→", long, "ssh", "ok", "ok"] in map(cells, lines)


def test_checks_between_hosts_are_left_out_where_a_host_is_away(said) -> None:
    away = Finding("answers", Mark.BAD, "gpu-b:22 refuses connections", is_unreachable=True)
    unknown = Finding("mtu", Mark.UNKNOWN, "not reached", ("b was not reached",))
    other = Finding("mtu", Mark.UNKNOWN, "no answer")
    hosts = (HostReport("a", GOOD), HostReport("b", (away,)), HostReport("c", GOOD))
    lines = said(DoctorReport("lab", hosts, (pair("a", "b", unknown), pair("b", "c", unknown), pair("a", "c", other))))
    assert [line for line in lines if "not reached" in line] == []
    assert "BAD   b: answers: gpu-b:22 refuses connections" in lines and "?     a → c: mtu: no answer" in lines


def test_equal_troubles_are_told_once_the_worst_first(said) -> None:
    hosts = (
        HostReport("a", (*GOOD, YELLOW, GREY)),
        HostReport("b", (*GOOD, RED, YELLOW)),
        HostReport("c", (*GOOD, RED)),
    )
    lines = said(DoctorReport("lab", hosts))
    assert lines[6:] == [
        "BAD   b, c: engine: no Docker engine is running",
        "        docker is not installed",
        "      $ docker version",
        "      → install it",
        "",
        "warn  a, b: memory: only 1 GB free",
        "",
        "?     a: image: not there yet",
        "      → hvdocker image push",
        "",
        "2 of 3 hosts are not fit to train: b, c",
    ]


def test_the_last_sentence(said) -> None:
    one = HostReport("a", (*GOOD, YELLOW))
    assert said(DoctorReport("lab", (one,)))[-1] == "1 host is fit to train, with 1 warning"
    assert said(DoctorReport("lab", (HostReport("a", (RED,)),)))[-1] == "1 of 1 host is not fit to train: a"
    differ = Finding("same image", Mark.BAD, "hosts have different builds", ("a: 1", "b: 2"))
    apart = said(DoctorReport("lab", (one, one), across=(differ,)))
    assert apart[-1] == "2 hosts would do, but not together: see BAD above"
    assert "BAD   all hosts: same image: hosts have different builds" in apart


def test_every_finding_where_one_wants_them_all(said) -> None:
    report = DoctorReport("lab", (HostReport("a", GOOD),), across=(Finding("same code", Mark.GOOD, "abc"),))
    lines = [cells(line) for line in said(report, is_verbose=True)]
    assert ["a", "login", "ok", "as", "ada"] in lines and ["clock", "ok", "within", "0.01", "s"] in lines
    assert ["all", "hosts", "same", "code", "ok", "abc"] in lines


def test_a_matrix_of_two(said) -> None:
    blocked = Finding("high ports", Mark.BAD, "blocked", ("a → b: port 40000 did not answer",), fix="open them")
    report = DoctorReport(
        "lab", (HostReport("a", GOOD), HostReport("b", GOOD)), (pair("a", "b", blocked), pair("b", "a"))
    )
    lines = said(report)
    assert [cells(line) for line in lines[5:8]] == [
        ["from", "\\", "to", "a", "b"],
        ["a", "·", "BAD", "high", "ports"],
        ["b", "ok", "0.2", "ms", "·"],
    ]
    assert "BAD   a → b: high ports: blocked" in lines
    assert lines[-1] == "2 hosts would do, but not together: see BAD above"


def test_fifty_hosts_show_only_what_is_not_good(said) -> None:
    names = [f"h{number}" for number in range(50)]
    hosts = tuple(HostReport(name, GOOD) for name in names)
    slow = Finding("rtt", Mark.WARN, "80 ms", fix="train on hosts of one site")
    pairs = [pair(a, b, *([slow] if (a, b) == ("h3", "h40") else [])) for a in names for b in names if a != b]
    lines = said(DoctorReport("lab", hosts, tuple(pairs)))
    start = lines.index("2449 of 2450 ways between hosts are good")
    assert [cells(line) for line in lines[start + 1 : start + 3]] == [
        ["from", "\\", "to", "h40"],
        ["h3", "warn", "80", "ms"],
    ]
    well = said(DoctorReport("lab", hosts, tuple(pair(a, b) for a in names for b in names if a != b)))
    assert "all 2450 ways between hosts are good" in well
    grey = Finding("ssh", Mark.UNKNOWN, "no image", fix="hvdocker image push")
    dark = said(DoctorReport("lab", hosts, tuple(pair(a, b, grey) for a in names for b in names if a != b)))
    (line,) = [line for line in dark if line.startswith("?")]
    assert line.startswith("?     h0 → h1, h0 → h2, ") and line.endswith(" and 2442 more: ssh: no image")
