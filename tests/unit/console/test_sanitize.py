"""Whatever others write, a terminal gets text, and no escape sequence that is not ours."""

import io
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from hvdocker import names
from hvdocker.cluster.status import HostStatus, JobStatus, StatusReport
from hvdocker.cluster.steps import StartContainer
from hvdocker.console import style
from hvdocker.console.errors import show_error
from hvdocker.console.output_screen import OutputScreen
from hvdocker.console.progress import Progress
from hvdocker.console.sanitize import sanitized, sanitized_with_colours
from hvdocker.console.views.doctor import show_report
from hvdocker.console.views.job import JobView
from hvdocker.console.views.lock import show_locks
from hvdocker.console.views.plan import show_plan
from hvdocker.console.views.status import show_status
from hvdocker.doctor.report import DoctorReport, Finding, HostReport, Mark, PairReport
from hvdocker.errors import HostErrors, HostUnreachable, HvdockerError
from hvdocker.events import Event
from hvdocker.locks.holder import Holder
from hvdocker.locks.lock import LockReport
from hvdocker.plan.plan import plan_of
from hvdocker.protocol.output import Line, LineAssembler, parse_line, settle_states
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import host_with_worker, inventory

ATTACKS = {
    "title": "\x1b]0;owned\x07",
    "title ended by ST": "\x1b]2;owned\x1b\\",
    "clipboard": "\x1b]52;c;b3duZWQ=\x07",
    "link": "\x1b]8;;http://evil\x1b\\",
    "cursor": "\x1b[2J\x1b[1;1H",
    "status report": "\x1b[6n\x1b[c",
    "alternate screen": "\x1b[?1049h",
    "device control": "\x1bP$q\"p\x1b\\",
    "application": "\x1b_Gi=31;AAAA\x1b\\",
    "C1 CSI": "\x9b2J",
    "C1 OSC": "\x9d0;owned\x9c",
    "reset": "\x1bc",
    "character set": "\x1b(0",
    "one inside another": "\x1b\x1b[0m[2J",
    "without an end": "\x1b]0;",
    "overwriting": "\b\b\b\x7f\r\x0b\x0c\x00\x07",
    "order of letters": "\u202e\u2066\u2069",
}  # fmt: skip
# What rich itself writes where there is a terminal: colours, and the cursor of its live table.
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[(?:\?25[lh]|2K|1A|\r)|\r")
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_only_the_readable_stays(attack: str) -> None:
    assert not BAD.search(sanitized(f"before{attack}after"))
    assert sanitized(f"before{attack}after").startswith("before")
    assert sanitized(f"before{attack}after").endswith("after")


def test_what_is_hidden_in_a_sequence_goes_with_it() -> None:
    assert sanitized("a\x1b]52;c;b3duZWQ=\x07b\x1b[31mc\x9b2Jd") == "abcd"


def test_an_unfinished_sequence_swallows_nothing() -> None:
    assert sanitized("loss \x1b]0;0.5 and more") == "loss 0;0.5 and more"


@pytest.mark.parametrize("text", ["", "plain", "tab\tand\nnewline", "한국어 é 🐳 \u200e", "[31m ]0; \\x1b"])
def test_text_stays_as_it_is(text: str) -> None:
    assert sanitized(text) == sanitized_with_colours(text) == text


def test_bytes_that_are_no_text_can_be_printed() -> None:
    assert sanitized(b"\xff\xfe.h5".decode("utf-8", "surrogateescape")) == "\ufffd\ufffd.h5"


def test_colours_of_a_rank_stay_and_nothing_else() -> None:
    assert sanitized_with_colours("\x1b[1;31mred\x1b[0m\x1b[2J\x1b]0;x\x07") == "\x1b[1;31mred\x1b[0m"
    assert "\x1b" not in sanitized_with_colours(f"\x1b[{'1;' * 50}m")


def test_a_hostile_text_costs_no_time() -> None:
    for piece in ("\x1b]", "\x9d", "\x1b[", "\x9b1", "\x1bP\x1b", "\x1b[1;"):
        assert not BAD.search(sanitized(piece * 100_000))


class Screen:
    """What a terminal, or a file, would be sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
        self.file = io.StringIO()
        monkeypatch.setattr(self.file, "isatty", lambda: is_terminal)
        for name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        self.console: Console = style._console(self.file)

    @property
    def text(self) -> str:
        return self.file.getvalue()

    def stray(self) -> str | None:
        # Between its writes a screen moves the cursor above the states of progress bars, and erases them.
        found = BAD.search(OURS.sub("", self.text.replace("\n\x1b[1A\x1b[J", "\n")))
        return found and ascii(found[0])


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch, request.param)


def status(console: Console, evil: str) -> None:
    lab = inventory("hosts: [a]")
    seen = host_with_worker(lab, "a")
    labels = {names.LABEL_ADDRESS: evil, names.LABEL_PORT: evil, names.LABEL_SLOTS: evil}
    worker = replace(seen.containers[0], labels=labels, state=evil)
    running = HostStatus(evil, evil, worker, replace(seen, engine=replace(seen.engine, version=evil)))
    gone = HostStatus(evil, evil, worker, seen, HostUnreachable(evil, host="a"))
    job = JobStatus(evil, evil, Placement((Share(evil, 1),)), evil, 0)
    show_status(console, StatusReport(lab, (running, gone), (job,)), 1.0)


def progress(console: Console, evil: str) -> None:
    with Progress(console) as shown:
        shown(Event(evil, evil, evil))


def locks(console: Console, evil: str) -> None:
    holder = Holder(evil, evil, evil, evil, evil, evil)
    show_locks(console, LockReport(inventory("hosts: [a, b]"), {"a": holder}, {"b": HvdockerError(evil)}))


def doctor(console: Console, evil: str) -> None:
    found = Finding(evil, Mark.BAD, evil, (evil,), evil, evil)
    pair = PairReport(evil, "b", (found, Finding("rtt", Mark.GOOD, evil)))
    report = DoctorReport(evil, (HostReport(evil, (found,)),), (pair,), (found,))
    show_report(console, report, is_verbose=True)


def output(console: Console, *lines: Line) -> None:
    screen = OutputScreen(console)
    view = JobView(screen)
    for line in lines:
        view(line)
    screen.close()


VIEWS: dict[str, Callable[[Console, str], None]] = {
    "a rank": lambda console, evil: output(console, Line(evil, 0, evil)),
    "a rank's progress bar": lambda console, evil: output(console, Line(evil, 0, evil, is_state=True)),
    "the launcher": lambda console, evil: output(console, Line(evil)),
    "an error": lambda console, evil: show_error(
        console, HvdockerError(evil, host=evil, command=evil, lines=[evil], fix=evil)
    ),
    "errors": lambda console, evil: show_error(console, HostErrors(evil, [HvdockerError(evil, host=evil)])),
    "a plan": lambda console, evil: show_plan(console, plan_of("up", "lab", ("start", [StartContainer(evil, evil)]))),
    "a status": status,
    "locks": locks,
    "the doctor": doctor,
    "progress": progress,
    "a sentence": lambda console, evil: console.print(f"left out: {evil}", style="quiet"),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_view_lets_anything_through(screen: Screen, view: Callable[..., None], attack: str) -> None:
    view(screen.console, f"before{attack}after")
    assert screen.stray() is None
    assert "before" in screen.text


def test_any_bytes_of_a_rank(screen: Screen) -> None:
    choice = random.Random(20261117)
    pieces = [piece.encode() for piece in ATTACKS.values()]
    pieces += [bytes([byte]) for byte in range(256)] + [
        b"\x1b[31m",
        b"\x1b[38;5;1m",
        b"\x1b[38;2;1;2m",
        b"\n",
    ]
    assembler, lines = LineAssembler(), []
    for _ in range(2000):
        body = b"".join(choice.choices(pieces, k=choice.randrange(12)))
        lines += [parse_line(raw, ["h1"]) for raw in assembler.feed(b"[0]<stdout>:" + body + b"\n")]
    output(screen.console, *settle_states(lines))
    assert screen.stray() is None
    # A body that ends in a carriage return is a state, which the next line overwrites.
    assert screen.text.count("0@h1") >= 1990


def test_a_ranks_colours_end_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, file = Screen(monkeypatch, True), Screen(monkeypatch, False)
    for screen in (terminal, file):
        output(screen.console, Line("\x1b[31mred", 0, "h1"), Line("plain", 0, "h1"))
    assert "\x1b[31mred\x1b[0m" in terminal.text and "\x1b[31mplain" not in terminal.text
    assert file.text == "0@h1 │ red\n0@h1 │ plain\n"


def test_a_script_is_exact_in_a_file_and_harmless_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "docker create --label 'x=\x1b]0;owned\x07'\n"
    for is_terminal, shown in ((False, script), (True, "docker create --label 'x='\n")):
        screen = Screen(monkeypatch, is_terminal)
        monkeypatch.setattr("sys.stdout", screen.file)
        style.write_script(script)
        assert screen.text == shown
