"""Plans, jobs and states as plain text."""

import io
from dataclasses import replace

import pytest

from hvdocker.cluster.status import HostStatus, JobStatus, StatusReport
from hvdocker.cluster.steps import StartContainer
from hvdocker.console.output_screen import OutputScreen
from hvdocker.console.progress import Progress
from hvdocker.console.style import _THEME, SanitizedConsole, err, out
from hvdocker.console.views.exec_output import HostView
from hvdocker.console.views.job import JobView, show_summary
from hvdocker.console.views.jobs import show_jobs
from hvdocker.console.views.lock import show_locks
from hvdocker.console.views.placement import show_explanation
from hvdocker.console.views.plan import show_plan
from hvdocker.console.views.status import show_status
from hvdocker.errors import HostUnreachable
from hvdocker.events import Event
from hvdocker.images.steps import BuildImage
from hvdocker.jobs.jobs import JobsReport, ListedJob
from hvdocker.locks.holder import Holder
from hvdocker.locks.lock import LockReport
from hvdocker.placement.slots import Offer, Slot, SlotRequest
from hvdocker.placement.strategies import explain
from hvdocker.plan.plan import CONTROLLER, Plan, plan_of
from hvdocker.protocol.output import Line
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import JobRecord
from hvdocker.protocol.resilience import Elastic
from tests.unit.builders import host_with_worker, inventory

PLACEMENT = Placement((Share("b", 1), Share("gpu-a", 2)))


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]):
    def read() -> list[str]:
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return read


def test_a_plan(said) -> None:
    show_plan(
        out(),
        plan_of("up", "lab", ("image", [BuildImage(CONTROLLER, "x:y")]), ("start", [StartContainer("a", "c")])),
    )
    assert said() == [
        "image      this machine  build x:y (it is nowhere yet; this takes minutes)",
        "start      a             start c",
    ]


def test_an_empty_plan_shows_nothing(said) -> None:
    show_plan(out(), Plan("up", "lab"))
    assert said() == []


def test_why_slots_were_placed_so(said) -> None:
    offers = [Offer("a", (Slot("GPU-0", "T4"), Slot("GPU-1", "T4"))), Offer("b", (Slot("GPU-2", "T4"),))]
    show_explanation(out(), explain(SlotRequest(1), offers))
    assert said() == [
        "                   placement  why",
        "pack               b:1        hosts: 1, left over: 0, shares: 1, models: 1",
        "without b, spread  a:1        lost: leaves 1 slot over on its hosts, not 0",
    ]
    show_explanation(out(), explain(SlotRequest(exact=(Share("a", 1), Share("b", 1))), offers))
    assert said() == [
        "                placement  why",
        "exact           a:1,b:1    as -H says",
        "pack, balanced  a:2        lost: not what -H says",
    ]


def test_every_ranks_lines(said) -> None:
    screen = OutputScreen(out())
    view = JobView(screen, PLACEMENT)
    view(Line("launching"))
    view(Line("[red]loss[/] 0.5", 0, "b"))
    view(Line("x", 2, "gpu-a"))
    view(Line("y", 9, None))
    screen.close()
    assert said() == ["launching", "0@b     │ [red]loss[/] 0.5", "2@gpu-a │ x", "9@?     │ y"]


def test_a_jobs_summary(said) -> None:
    ranks = (
        RankEnd(0, "b", 0, None, 61.2, 2048),
        RankEnd(1, "gpu-a", None, 9),
        RankEnd(2, "gpu-a", None, 99),
    )
    record = JobRecord("train-abcd", "failed", 1, 100.0, 107.5, ranks)
    show_summary(out(), "train-abcd", PLACEMENT, record)
    lines = said()
    assert lines[0] == "train-abcd failed: 3 ranks on 2 hosts, 7.5 s"
    assert [line.split() for line in lines[1:]] == [
        ["rank", "host", "exit", "time", "memory"],
        ["0", "b", "0", "1", "min", "01", "s", "2.0", "MB"],
        ["1", "gpu-a", "SIGKILL"],
        ["2", "gpu-a", "signal", "99"],
    ]


def test_a_clusters_state(said) -> None:
    lab = inventory("hosts: [a, b]\nport: 12345\n")
    seen = host_with_worker(lab, "a")
    hosts = (
        HostStatus("a", "a", seen.worker("a"), seen),
        HostStatus("b", "b", error=HostUnreachable("b:22 refuses connections", host="b")),
    )
    job = JobStatus("train-abcd", "running", Placement((Share("a", 1),)), "ada", 100)
    show_status(out(), StatusReport(lab, hosts, (job,)), now=160.0)
    lines = [line.split() for line in said()]
    assert lines == [
        ["cluster", "lab", "image", "doc-hvd:cpu"],
        ["host", "worker", "address", "slots", "engine"],
        ["a", "running", "10.0.0.11:12345", "1", "27.0"],
        ["b", "unreachable", "b:22", "refuses", "connections"],
        ["job", "state", "ranks", "hosts", "owner", "started"],
        ["train-abcd", "running", "1", "a:1", "ada", "1", "min", "00", "s", "ago"],
    ]


def test_the_state_of_a_pool_shows_all_its_ranks(said) -> None:
    job = JobStatus("sweep-abcd", "running", Placement((Share("a", 2),)), "ada", 100, ranks=40)
    show_status(out(), StatusReport(inventory("hosts: [a]"), (), (job,)), now=160.0)
    assert said()[-1].split()[:4] == ["sweep-abcd", "running", "40", "a:2"]


def test_without_a_terminal_every_step_is_one_line(said) -> None:
    with Progress(out()) as progress:
        progress(Event("connect", "connecting"))
        for done in (1, 2):
            progress(Event("image", "load x", "a", done=done, total=2))
        progress(Event("image", "load x", "a", is_end=True))
        progress(Event("image", "load x", "b"))
    assert said() == ["image      a            load x", "image      b            load x"]


def test_quiet_is_silent(said) -> None:
    with Progress(out(), is_quiet=True) as progress:
        progress(Event("image", "load x", "a"))
    assert said() == []


def test_locks(said) -> None:
    bob = Holder("b0b", "bob", "desk", "bob", "up", "lab", age_s=4, held_s=75)
    dead = Holder("dead", "eve", "attic", "eve", "train", "old", age_s=300, held_s=400)
    hosts = inventory("hosts: [a, b, c, d]")
    gone = HostUnreachable("refuses connections", host="d")
    report = LockReport(hosts, {"a": None, "b": bob, "c": dead}, {"d": gone})
    show_locks(out(), report)
    lines = [" ".join(line.split()) for line in said()]
    assert lines == [
        "host lock held by doing since last beat",
        "a free",
        "b held bob@desk `up` of cluster lab 1 min 15 s ago 4.0 s ago",
        "c stale eve@attic `train` of cluster old 6 min 40 s ago 5 min 00 s ago",
        "d unreachable refuses connections",
    ]
    shown = report.as_json()["hosts"]
    assert [host["state"] for host in shown] == ["free", "held", "stale", "unreachable"]
    assert "b0b" not in str(shown) and shown[2]["held_by"]["stale"] is True


def test_no_id_is_cut_on_a_narrow_terminal() -> None:
    two = Placement((Share("gpu-node-17", 1), Share("gpu-node-18", 1)))
    job = ListedJob("finetune-llama-abcd", "lab", "ada", "failed", two, "gpu-node-17", 9.0, 60.0, "train.py", 139)
    for width in (20, 40, 60, 80):
        file = io.StringIO()
        console = SanitizedConsole(file=file, width=width, theme=_THEME, soft_wrap=True)
        show_jobs(console, JobsReport(inventory("hosts: [a, b]"), (job,), ()), now=160.0)
        text = file.getvalue()
        assert "finetune-llama-abcd" in text and "139" in text and "…" not in text, width
        assert width < 80 or ("gpu-node-17:1" in text and "gpu-node-18:1" in text)


def narrow(width: int) -> tuple[SanitizedConsole, io.StringIO]:
    file = io.StringIO()
    return SanitizedConsole(file=file, width=width, theme=_THEME, soft_wrap=True), file


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100])
def test_no_id_and_no_host_name_is_cut_in_the_status_of_a_cluster(width: int) -> None:
    placement = Placement((Share("gpu-node-17.example", 8), Share("gpu-node-18.example", 8)))
    job = JobStatus("tensorflow2-keras-mnist-abcd", "running", placement, "ada.lovelace", 100)
    gone = HostUnreachable("gpu-node-18.example:22 did not answer in 10 s", host="gpu-node-18.example")
    hosts = (HostStatus("gpu-node-17.example", "a"), HostStatus("gpu-node-18.example", "b", error=gone))
    console, file = narrow(width)
    show_status(console, StatusReport(inventory("hosts: [a]"), hosts, (job,)), now=160.0)
    text = file.getvalue()
    assert "tensorflow2-keras-mnist-abcd" in text and "…" not in text
    for host in ("gpu-node-17.example", "gpu-node-18.example"):
        assert text.count(host) >= 2
    assert width < 80 or max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [40, 80])
def test_no_holder_of_a_lock_is_cut(width: int) -> None:
    bob = Holder("b0b", "robert.longname", "workstation-17", "bob", "train", "lab", age_s=4, held_s=75)
    console, file = narrow(width)
    show_locks(console, LockReport(inventory("hosts: [gpu-node-17]"), {"gpu-node-17": bob}, {}))
    assert "gpu-node-17" in file.getvalue() and bob.who in file.getvalue() and "…" not in file.getvalue()


def test_the_history_of_jobs(said) -> None:
    two = Placement((Share("a", 1), Share("b", 1)))
    running = ListedJob("train-abcd", "lab", "ada", "running", two, "a", 100.0, 60.0, "train.py", elastic=Elastic(1, 8))
    endless = replace(running, job="more-abcd", elastic=Elastic(1))
    failed = ListedJob("old-efgh", "lab", "bob", "failed", two, "a", 40.0, 5.0, "old.py", 1)
    home = ListedJob("home-ijkl", "lab", "", "unknown", Placement(()), "", None, None, "home", local_folder="/x")
    report = JobsReport(inventory("hosts: [a, b]"), (running, endless, failed, home), ())
    show_jobs(out(), report, now=160.0)
    assert [" ".join(line.split()) for line in said()] == [
        "job state exit ranks hosts started for owner script at",
        "train-abcd running 1..8 a:1, b:1 1 min 00 s ago 1 min 00 s ada train.py a",
        "more-abcd running 1.. a:1, b:1 1 min 00 s ago 1 min 00 s ada train.py a",
        "old-efgh failed 1 2 a:1, b:1 2 min 00 s ago 5.0 s bob old.py a",
        "home-ijkl unknown home home",
        "nobody waits for slots",
    ]
    show_jobs(out(), replace(report, jobs=(replace(failed, cluster="other", created=-500000.0),)), now=160.0)
    lines = [" ".join(line.split()) for line in said()]
    assert lines[:2] == [
        "job state exit ranks hosts started for owner script cluster at",
        "old-efgh failed 1 2 a:1, b:1 5 days ago 5.0 s bob old.py other a",
    ]


def test_what_a_command_says_on_hosts(said, capsys: pytest.CaptureFixture[str]) -> None:
    view = HostView(out(), err(), ["a", "gpu-b"])
    view("a", "one [red]", False)
    view("gpu-b", "\x1b[2Jtwo", False)
    assert said() == ["a     │ one [red]", "gpu-b │ two"]
    view("a", "three", True)
    assert capsys.readouterr().err == "a     │ three\n"
    HostView(out(), err(), ["a"])("a", "plain", False)
    assert said() == ["plain"]
