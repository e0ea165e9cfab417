"""Ending processes by their mark, tried on processes of this machine; and what ranks keep on a host."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hvdocker.engine.container_commands import interactive_shell, ranks_folder, signal_exec, signal_ranks
from hvdocker.jobs.log.rank_logs import end_of_rank_log, list_rank_logs, read_rank_logs
from hvdocker.shell.command import Command


@contextmanager
def process(**marks: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Leads a group of its own, as a rank's command does."""
    environment = {"PATH": os.environ["PATH"], **marks}
    started = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
    try:
        # The kernel lets us go on before the new program's environment is there.
        while not Path(f"/proc/{started.pid}/environ").read_bytes():
            pass
        yield started
    finally:
        started.kill()
        started.wait()


def said(command: Command) -> list[str]:
    return subprocess.run(command.argv, capture_output=True, text=True, check=True).stdout.split()


def test_only_what_is_of_the_job_is_signalled() -> None:
    with (
        process(HVDOCKER_JOB="train-abcd") as own,
        process(HVDOCKER_JOB="train-abcde") as other,
        process(NOTE="HVDOCKER_JOB=train-abcd") as stranger,
    ):
        pids = [own.pid, other.pid, stranger.pid, 1, os.getpid(), 4_000_000]
        assert said(signal_ranks("0", "train-abcd", pids)) == [str(own.pid)]
        assert said(signal_ranks("TERM", "train-abcd", pids)) == [str(own.pid)]
        assert own.wait(10) == -signal.SIGTERM
        assert said(signal_ranks("0", "train-abcd", pids)) == []
        assert (other.poll(), stranger.poll()) == (None, None)


def test_a_jobs_name_is_no_pattern() -> None:
    with process(HVDOCKER_JOB="train-abcd") as own:
        assert said(signal_ranks("TERM", ".*", [own.pid])) == []
        assert own.poll() is None


def test_what_one_exec_started_is_found_by_its_mark() -> None:
    with process(HVDOCKER_EXEC="5e1f-token") as own, process(HVDOCKER_EXEC="other") as other:
        assert said(signal_exec("KILL", "5e1f-token")) == [str(own.pid)]
        assert own.wait(10) == -signal.SIGKILL
        assert other.poll() is None


def test_where_ranks_say_which_process_they_are() -> None:
    assert ranks_folder("train-abcd") == "/run/hvdocker/ranks/train-abcd"


def test_a_shell_that_every_image_has() -> None:
    done = subprocess.run(interactive_shell(), input="echo $0", capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("bash", "sh")


def test_what_ranks_said_on_a_host(tmp_path: Path) -> None:
    assert said(list_rank_logs(str(tmp_path))) == []
    logs = tmp_path / "logs"
    logs.mkdir()
    assert said(list_rank_logs(str(tmp_path))) == []
    for name, text in (("rank-10.log", "ten\n"), ("rank-2.log", "new\n"), ("rank-2.log.1", "old\n")):
        (logs / name).write_text(text)
    (logs / "rank-x.log").write_text("no rank\n")
    assert read_rank_logs("\n".join(said(list_rank_logs(str(tmp_path))))) == [2, 10]
    assert said(end_of_rank_log(str(tmp_path), 2, 100)) == ["old", "new"]
    assert said(end_of_rank_log(str(tmp_path), 2, 6)) == ["d", "new"]
    assert said(end_of_rank_log(str(tmp_path), 10, 100)) == ["ten"]
