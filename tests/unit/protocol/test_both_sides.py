"""Every message, written by one side and read by the other."""

import json
import sys
from pathlib import Path

import pytest

from hvdocker import names
from hvdocker.engine.container_commands import JOB_VARIABLE
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.log.rank_logs import read_rank_log_tails
from hvdocker.protocol import paths, variables
from hvdocker.protocol.hosts_file import HOSTS_FILE, hosts_text, parse_hosts
from hvdocker.protocol.job_file import Job, JobHost, JobLauncher, job_file_for_new_host, parse_job
from hvdocker.protocol.line_header import RANK_LINE, line_header, with_host
from hvdocker.protocol.marks import encode_mark, extract_mark
from hvdocker.protocol.output import Line, parse_line
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.rank_log import log_header
from hvdocker.protocol.rank_messages import RankEnd, RankWho, beat_mark, exit_mark, exit_record, start_mark
from hvdocker.protocol.record import (
    Attempt,
    AttemptRecord,
    DroppedHost,
    Hang,
    JobRecord,
    RecordContent,
    RuleMatch,
)
from hvdocker.protocol.resilience import Elastic, Resilience, Rule
from hvdocker.secret import SecretSource

A, B = JobHost("a", "10.0.0.11", 2), JobHost("b", "10.0.0.12", 1)
RESILIENCE = Resilience(2, 1, Elastic(1, 4), 30.0, "restart", (Rule("NaN", "stop"),))
SPEC = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("a", 2, ("GPU-1", "GPU-2")), Share("b", 1))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=("python", "train.py"),
    launcher=JobLauncher("torchrun", {"flags": ["--tee"], "max_restarts": 3}, "--launcher"),
    workdir="/train",
    env={"A": "1"},
    code_hash="c0de",
    secrets=(SecretSource("TOKEN"),),
    resilience=RESILIENCE,
    master_port=30000,
    np=7,
)
JOB = Job(
    name="train-abcd",
    cluster="lab",
    host="a",
    hosts=(A, B),
    command=("python", "train.py"),
    workdir="/train",
    launcher=JobLauncher("torchrun", {"flags": ["--tee"], "max_restarts": 3}, "--launcher"),
    env={"A": "1"},
    np=7,
    port=12345,
    master_port=30000,
    code_hash="c0de",
    secrets=("TOKEN",),
    devices=("GPU-1", "GPU-2"),
    resilience=RESILIENCE,
)
WHO = RankWho(1, "a", "10.0.0.11")
HOW = {"code": 137, "signal": 9, "max_rss_kb": 2048}
END = RankEnd(1, "a", 137, 9, 7.5, 2048, True)


def test_the_job_file() -> None:
    assert parse_job(SPEC.for_host("a")) == JOB
    assert parse_job(JOB.text()) == JOB


def test_the_job_file_of_a_host_that_joins() -> None:
    c = JobHost("c", "10.0.0.13", 4)
    joined = parse_job(job_file_for_new_host(SPEC.for_host("a"), c, ("GPU-9",)))
    assert (joined.host, joined.hosts, joined.devices) == ("c", (A, B, c), ("GPU-9",))


def test_the_hosts_of_a_running_job() -> None:
    assert parse_hosts(hosts_text((A, B))) == (A, B)


@pytest.mark.parametrize(
    "mark",
    [
        start_mark(WHO, 100.0, "eth0"),
        beat_mark(WHO, 1.5, 1.0, 2048, 7),
        exit_mark(exit_record(WHO, HOW, True, False, 100.0, 107.5, 7.5)),
    ],
    ids=["start", "beat", "exit"],
)
def test_the_messages_of_a_rank(mark: dict[str, object]) -> None:
    assert extract_mark(line_header(1, is_error=True) + encode_mark(mark)) == (b"", mark)


def test_the_end_of_a_rank() -> None:
    text = json.dumps(exit_record(WHO, HOW, True, False, 100.0, 107.5, 7.5))
    assert RankEnd.read(json.loads(text)) == END


def test_the_header_of_a_line() -> None:
    piece = line_header(3, is_error=True) + b"text"
    found = RANK_LINE.fullmatch(with_host(piece, "c"))
    assert found and found.groups() == (b"[3@c]<stderr>:", b"3", b"c", b"stderr", b"text")
    assert parse_line(piece.decode(), ("a",) * 4) == Line("text", 3, "a", True)
    assert parse_line(with_host(piece, "c").decode(), ("a",) * 4) == Line("text", 3, "c", True)


def test_the_log_of_a_rank() -> None:
    text = f"hvdocker-file rank-3.log\n{log_header(3, 'a', '2', '2026-11-18 10:00:00 UTC')}text\n"
    (tail,) = read_rank_log_tails(text)
    assert (tail.rank, tail.start, tail.lines) == (3, 2, ("text",))


def test_the_record() -> None:
    end = exit_record(WHO, HOW, True, False, 100.0, 107.5, 7.5)
    match, dropped = RuleMatch("NaN", "loss: NaN", 1, "a"), DroppedHost("b", 3, "exit code 1", "drop")
    hang = Hang(600.0, 1, "a", "it sleeps", "hang-1", "kill")
    content = RecordContent(
        job="train-abcd",
        cluster="lab",
        state="failed",
        started=100.0,
        finished=107.5,
        ranks=[{**end, "interface": "eth0"}],
        attempts=[
            AttemptRecord(1, 100.0, 3, ["a", "b"]),
            AttemptRecord(2, 103.0, 2, ["a"], 107.0, 1, end, ["b"]),
        ],
        dropped_by_rule=[match],
        dropped_hosts=[dropped],
        stopped_by_rule=match,
        hang=hang,
        output_lines=12,
        versions={"python": "3.11"},
        launcher="torch",
        launcher_reason="--launcher",
    )
    assert JobRecord.read(json.dumps(content.as_json())) == JobRecord(
        job="train-abcd",
        state="failed",
        code=1,
        started=100.0,
        finished=107.5,
        ranks=(RankEnd(1, "a", 137, 9, 7.5, 2048, True, "eth0"),),
        first_failure=END,
        restarts=1,
        attempts=(Attempt(1, 100.0, None, 3, ("a", "b")), Attempt(2, 103.0, 107.0, 2, ("a",), 1, END, ("b",))),
        lost_hosts=("b",),
        dropped_by_rule=(match,),
        dropped_hosts=(dropped,),
        stopped_by_rule=match,
        hang=hang,
        versions={"python": "3.11"},
        output_lines=12,
        launcher="torch",
        launcher_reason="--launcher",
    )


def test_paths_and_variables_that_the_controller_names_itself() -> None:
    """Packages below the protocol, such as engine, must not import it."""
    assert str(paths.RUN) == names.CONTAINER_FOLDER
    assert str(paths.secrets_folder("j")) == f"{names.SECRETS_FOLDER}/j"
    assert str(paths.job_folder("j")) == f"{names.JOBS_MOUNT}/j"
    assert str(paths.RUN / HOSTS_FILE) == "/run/hvdocker/hosts.json"
    assert variables.JOB == JOB_VARIABLE


def test_the_protocol_needs_only_the_standard_library() -> None:
    import ast

    folder = Path(__file__).parents[3] / "hvdocker" / "protocol"
    found = {
        name.partition(".")[0]
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert found - set(sys.stdlib_module_names) == {"hvdocker"}
