"""What the image knows about Horovod."""

from dataclasses import replace
from pathlib import Path

import pytest
from inside.launchers import launcher_of, named
from inside.launchers.horovod import flag_value, launcher_words, with_flag_value
from inside.launchers.horovod_elastic import elastic_launcher_words, initial_rank_count
from inside.launchers.launcher import Launcher, LauncherRun, RankIdentity
from inside.runtime.layout import Layout

from hvdocker.protocol.job_file import Job, JobError, JobHost, JobLauncher
from hvdocker.protocol.resilience import Elastic, Resilience

A, B, C = JobHost("a", "198.18.0.2", 2), JobHost("b", "198.18.0.3", 4), JobHost("c", "198.18.0.4", 1)
WORDS = ("horovodrun", "-np", "7", "-H", "198.18.0.2:2,198.18.0.3:4,198.18.0.4:1", "-p", "12345", "--gloo")
ELASTIC = ("horovodrun", "-np", "4", "--min-np", "2", "--host-discovery-script", "/x")
JOB = Job("j", "lab", "a", (A, B, C), ("true",), "/train", JobLauncher("horovod", {"words": list(WORDS)}))
ELASTIC_JOB = replace(
    JOB,
    launcher=JobLauncher("horovod", {"words": list(ELASTIC)}),
    resilience=Resilience(elastic=Elastic(2, 6)),
)
LAYOUT = Layout(bin=Path("/opt/hvdocker/bin"))
WRAPPER = ["/opt/hvdocker/bin/rank", "j"]


def test_an_unknown_launcher_is_named() -> None:
    with pytest.raises(JobError, match="'slurm'"):
        named("slurm")


def test_the_command_of_a_whole_job() -> None:
    launcher, run = launcher_of(JOB), LauncherRun(JOB, JOB.hosts, LAYOUT, "eth0")
    assert launcher.command(run) == [*WORDS, "--network-interfaces", "eth0", *WRAPPER]
    assert launcher.command(replace(run, is_alone=True)) == [*WORDS, *WRAPPER]
    assert (launcher.rank_count(run), launcher.requested_rank_count(run)) == (7, 7)
    assert (launcher.trusts_rank_numbers, launcher.restarts_ranks) == (True, False)


def test_the_command_after_a_restart_on_other_hosts() -> None:
    run = LauncherRun(JOB, (A, C), LAYOUT, None)
    assert launcher_of(JOB).command(run) == [*launcher_words(WORDS, (A, C)), *WRAPPER]
    assert launcher_of(JOB).requested_rank_count(run) == 3


def test_an_elastic_job_has_its_own_launcher() -> None:
    launcher, run = launcher_of(ELASTIC_JOB), LauncherRun(ELASTIC_JOB, JOB.hosts, LAYOUT, "eth0")
    assert launcher.command(run) == [*ELASTIC, "--network-interfaces", "eth0", *WRAPPER]
    assert (launcher.requested_rank_count(run), launcher.rank_count(run)) == (4, 6)
    assert (launcher.trusts_rank_numbers, launcher.restarts_ranks) == (False, True)


def test_how_long_an_elastic_job_waits_for_slots() -> None:
    words = [*ELASTIC, "--elastic-timeout", "30"]
    impatient = replace(ELASTIC_JOB, launcher=JobLauncher("horovod", {"words": words}))
    assert launcher_of(ELASTIC_JOB).elastic_timeout_s(ELASTIC_JOB) == 600.0
    assert launcher_of(impatient).elastic_timeout_s(impatient) == 30.0


def test_the_numbers_of_a_rank() -> None:
    env = {"HOROVOD_RANK": "5", "HOROVOD_SIZE": "7", "HOROVOD_LOCAL_RANK": "3", "HOROVOD_LOCAL_SIZE": "4"}
    assert named("horovod").identity(env) == RankIdentity(5, 7, 3, 4)
    usual = {"RANK": "5", "WORLD_SIZE": "7", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1"}
    assert Launcher().identity(usual) == RankIdentity(5, 7, 3, 4, 1)


def test_the_first_failed_rank_is_read_from_two_lines() -> None:
    reader = named("horovod").failure_reader()
    lines = ["Exit code: 4", "Process name: 2", "some text", "Exit code: 7"]
    assert [reader.read(line) for line in lines] == [None, None, None, (2, 7)]


def test_a_date_before_the_header_is_taken_away() -> None:
    launcher = named("horovod")
    date = b"Tue Nov 17 10:11:12 2026"
    assert launcher.neutral_prefix(date + b"[0]<stdout>:now\n") == b"[0]<stdout>:now\n"
    for piece in (b"[0]<stdout>:" + date + b"\n", date + b" is today\n"):
        assert launcher.neutral_prefix(piece) == piece
    assert launcher.may_become_prefix(date + b"[0]<std")


def test_hosts_and_ranks_are_replaced_and_nothing_else() -> None:
    assert launcher_words(WORDS, (A, C)) == [
        "horovodrun", "-np", "3", "-H", "198.18.0.2:2,198.18.0.4:1", "-p", "12345", "--gloo",
    ]  # fmt: skip
    assert launcher_words(WORDS, (A, B, C)) == list(WORDS)


def test_of_a_flag_that_is_given_twice_the_last_value_counts() -> None:
    words = ["horovodrun", "--elastic-timeout", "30", "--elastic-timeout", "60"]
    assert flag_value(words, "--elastic-timeout") == "60"
    assert with_flag_value(words, "--elastic-timeout", "90") == [*words[:-1], "90"]


@pytest.mark.parametrize(("slots", "np"), [(8, "4"), (3, "3"), (1, "2")])
def test_an_elastic_job_begins_with_the_slots_that_are_there(slots: int, np: str) -> None:
    assert elastic_launcher_words(ELASTIC, 2, slots) == ["horovodrun", "-np", np, *ELASTIC[3:]]


@pytest.mark.parametrize(("slots", "max_np", "first"), [(2, None, 2), (6, None, 6), (6, 4, 4), (1, 4, 2)])
def test_an_elastic_job_uses_all_slots_that_it_may(slots: int, max_np: int | None, first: int) -> None:
    assert initial_rank_count(2, slots, max_np) == first
