"""What runs on a host ends beneath a job: its engine, the worker, the worker's sshd, the master."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import (
    assert_next_job_runs,
    assert_no_ranks_left,
    error_text,
    finish_job,
    newest_job,
    start_watched,
)
from tests.cluster.faults.trial import Trial
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import until
from tests.cluster.training import await_no_ranks


def restart_engine(host: LabHost) -> None:
    host.stop_engine()
    host.start_engine()


def main_pid(host: LabHost, container: str) -> int:
    return int(host.docker("inspect", "-f", "{{.State.Pid}}", container))


def await_worker(t: Trial, host: LabHost, but: int) -> None:
    """Until the engine has started it again by itself."""
    until(lambda: main_pid(host, t.site.worker) not in (0, but) or None, f"the worker of {host.name}", 60)


def test_engine_restarted_between_up_and_train(training_trial: TrialFactory) -> None:
    """Workers come back with it; nobody has to do anything."""
    with training_trial() as t:
        for host in t.hosts:
            restart_engine(host)
        with t.reaction():
            assert_next_job_runs(t)


@contextmanager
def live_restore(host: LabHost, is_on: bool) -> Iterator[None]:
    """Switch live-restore of a running engine: with it, containers outlive their engine."""
    before = host.exec(["cat", "/etc/docker/daemon.json"])
    try:
        host.exec(f"echo '{{\"live-restore\": {str(is_on).lower()}}}' > /etc/docker/daemon.json")
        reload_engine(host, is_on)
        yield
    finally:
        host.exec(f"cat > /etc/docker/daemon.json <<'END'\n{before}\nEND")
        reload_engine(host, '"live-restore": true' in before)


def reload_engine(host: LabHost, is_on: bool) -> None:
    host.exec("kill -HUP $(cat /var/run/docker.pid)")
    wanted = str(is_on).lower()
    until(
        lambda: host.docker("info", "-f", "{{.LiveRestoreEnabled}}").strip() == wanted or None,
        f"{host.name}: live-restore is {wanted}",
        30,
    )


def test_engine_restarted_in_training(training_trial: TrialFactory) -> None:
    with training_trial() as t, live_restore(t.hosts[1], False):
        process = start_watched(t, "never")
        with t.reaction():
            restart_engine(t.hosts[1])
            said = error_text(t.wait_expecting(process, 100))
        assert "h2" in said
        assert_next_job_runs(t)


def test_engine_with_live_restore_restarted_in_training(training_trial: TrialFactory) -> None:
    with training_trial() as t, live_restore(t.hosts[1], True):
        process = start_watched(t, "spared")
        with t.reaction():
            restart_engine(t.hosts[1])
            finish_job(t, process, "spared")
        assert_no_ranks_left(t)


def test_engine_of_the_head_restarted_in_training(training_trial: TrialFactory) -> None:
    """An engine that ends stops its containers: the job is stopped, by someone else."""
    with training_trial() as t:
        process = start_watched(t, "never")
        with t.reaction():
            restart_engine(t.hosts[0])
            said = error_text(t.wait_expecting(process, 103))
        assert "h1" in said
        await_no_ranks(t.site)
        assert_next_job_runs(t)


def test_worker_killed_in_training(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "never")
        t.hosts[1].docker("kill", t.site.worker)
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert "h2" in said
        assert "h2: its worker is exited" in t.run_expecting(3, "train", "code/report_environment.py")
        t.site.up()
        assert_next_job_runs(t)


def test_sshd_of_a_worker_killed_in_training(training_trial: TrialFactory) -> None:
    """It is the worker's main process: the engine starts both again."""
    with training_trial() as t:
        process = start_watched(t, "never")
        before = main_pid(t.hosts[1], t.site.worker)
        server = t.hosts[1].exec(["pgrep", "-P", str(before)]).split()[0]
        t.hosts[1].exec(["kill", "-KILL", server])
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert "h2" in said
        await_worker(t, t.hosts[1], before)
        assert_no_ranks_left(t)
        assert_next_job_runs(t)


def test_master_killed(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "never")
        job = newest_job(t)
        t.hosts[0].docker("kill", f"hvdocker-{t.site.cluster}-{job}")
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
            await_no_ranks(t.site)
        assert "h1" in said and job in said
        assert_next_job_runs(t)
