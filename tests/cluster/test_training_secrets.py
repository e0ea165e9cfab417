"""Secrets reach the ranks, as files of their own, and are seen nowhere else; they go with their job."""

import hashlib
import signal
import subprocess

import pytest

from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import LabError, until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.training import (
    DEADLINE_S,
    await_no_ranks,
    await_ranks,
    open_gate,
    rank_reports,
    train_detached,
    wait_for_exit,
)

pytestmark = pytest.mark.training

LAUNCHERS: tuple[str, ...] = ("torch",)  # the others: tests/thorough

TOKEN = "hvs.Q7x-blue/whale+71"
CERT = "-----BEGIN THING-----\nTm8gcGVlcGluZyE9PQ71\nab\n-----END THING-----\n"
# As patterns that do not find themselves in the command that looks for them.
LOOKED_FOR = r"hvs\.Q7x-blue/whale[+]71|Tm8gcGVlcGluZyE9PQ[7]1"
BEGAN = "/run/lab-began"
SECRETS = ("--secret", "TOKEN", "--secret", "CERT=@cert.pem")


def seen_in_processes(host: LabHost) -> str:
    """Command lines and environments of everything that runs on the host, in containers too."""
    all_of_them = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null"
    return host.attempt(f"{all_of_them} | tr '\\0' '\\n' | grep -aE '{LOOKED_FOR}'")[1]


def seen_in_files(host: LabHost) -> list[str]:
    """Every file on the host that changed since the beginning and has a secret in it."""
    # Archives bring modification times along; nobody sets the time of a change.
    script = (
        "find /var/lib/docker /var/log /home /root /tmp /var/tmp /srv /run -xdev -type f "
        f"-cnewer {BEGAN} -exec grep -laE '{LOOKED_FOR}' {{}} +"
    )
    return sorted(host.attempt(script)[1].split())


def seen_by_engine(host: LabHost) -> str:
    """What the engine tells of containers, their logs, and images."""
    script = (
        "for id in $(docker ps -aq); do docker inspect $id; docker logs $id 2>&1; done; "
        "for id in $(docker images -q | sort -u); do docker inspect $id; docker history --no-trunc $id; done"
    )
    return host.attempt(f"{{ {script}; }} | grep -aE '{LOOKED_FOR}'")[1]


def begin(site: LabCluster) -> None:
    (site.folder / "cert.pem").write_text(CERT)
    for host in site.hosts:
        host.exec(["touch", BEGAN])


def start(site: LabCluster, *words: str) -> "subprocess.Popen[str]":
    begin(site)
    process = site.cli.start(
        "train", *SECRETS, "code/leak_secrets.py", "--", *words, cwd=site.folder, env={"TOKEN": TOKEN}
    )
    await_ranks(site, f"leak_secrets.py {words[0]}")
    return process


def hosts_hold_nothing(site: LabCluster) -> bool:
    for host in site.hosts:
        if found := seen_in_files(host):
            raise LabError(f"{host.name}: {found}")
    return True


def assert_masked(text: str) -> None:
    for secret in (TOKEN, *CERT.splitlines()):
        if len(secret) >= 8:
            assert secret not in text
    assert "TOKEN is ***." in text and "CERT is ***" in text and "slowly ***" in text


def test_both_ranks_have_them_and_nobody_else_sees_them(training: LabCluster) -> None:
    process = start(training, "shared")
    job = str(training.status()["jobs"][0]["job"])
    place = f"/run/hvdocker/secrets/{job}"
    for host in training.hosts:
        until(lambda host=host: seen_in_files(host) or None, f"secrets on {host.name}", DEADLINE_S)
        files = seen_in_files(host)
        assert [path.partition("/run/hvdocker/")[2] for path in files] == [
            f"secrets/{job}/CERT", f"secrets/{job}/TOKEN",
        ]  # fmt: skip
        assert all(path.startswith("/var/lib/docker/") for path in files)
        assert seen_in_processes(host) == ""
        assert seen_by_engine(host) == ""
    open_gate(training, "shared")
    code, out, err = wait_for_exit(process)
    assert code == 0
    assert_masked(out)
    assert TOKEN not in err
    hashes = {
        "TOKEN": ["0o100400", True, hashlib.sha256(TOKEN.encode()).hexdigest()],
        "CERT": ["0o100400", True, hashlib.sha256(CERT.encode()).hexdigest()],
    }
    assert rank_reports(out) == [
        {"rank": str(rank), "folder": [place, "0o40700"], "secrets": hashes} for rank in (0, 1)
    ]
    # Gone with the job, and masked wherever its output is kept.
    assert hosts_hold_nothing(training)
    assert_masked(training.run("logs", job).out)
    assert_masked(training.hosts[0].docker("logs", f"hvdocker-lab-{job}"))
    training.run("fetch", job)
    kept = [path for path in (training.folder / ".hvdocker").rglob("*") if path.is_file()]
    texts = {path.name: path.read_text(errors="replace") for path in [*kept, *training.cli.home.rglob("*.json")]}
    assert any("slowly ***" in text for text in texts.values())
    assert [name for name, text in texts.items() if TOKEN in text or "Tm8gcGVlcGlu" in text] == []


def test_however_a_job_ends_its_secrets_go(training: LabCluster, launcher: LauncherCase) -> None:
    begin(training)
    failing = ("train", *launcher.flags, *SECRETS, "code/leak_secrets.py", "--", "never", "1", "3")
    assert TOKEN not in training.run(*failing, check=100, env={"TOKEN": TOKEN}).err
    assert hosts_hold_nothing(training)

    process = start(training, "stopped")
    training.run("stop")
    assert wait_for_exit(process)[0] == 103
    assert hosts_hold_nothing(training)

    process = start(training, "interrupted")
    process.send_signal(signal.SIGINT)
    assert wait_for_exit(process)[0] == 130
    assert hosts_hold_nothing(training)


def test_what_a_killed_master_leaves_is_removed_by_the_next_train(training: LabCluster) -> None:
    head, other = training.hosts
    process = start(training, "killed")
    job = str(training.status()["jobs"][0]["job"])
    # Folders of jobs that no master tells of, and of ranks that never started: one stays, the other goes.
    training.exec_in_worker(other, "mkdir", "-m", "700", "/run/hvdocker/secrets/another-job")
    process.kill()
    wait_for_exit(process)
    head.docker("kill", f"hvdocker-lab-{job}")
    await_no_ranks(training)
    until(lambda: not seen_in_files(other) or None, "the worker's secrets go with its ranks", DEADLINE_S)
    training.exec_in_worker(other, "mkdir", f"/run/hvdocker/secrets/{job}")
    assert len(seen_in_files(head)) == 2
    result = training.run("train", "--workdir", "code", "--", "true")
    assert f"empty the secrets of {job}" in result.err
    assert hosts_hold_nothing(training)
    assert training.exec_in_worker(other, "ls", "/run/hvdocker/secrets")[1].split() == ["another-job"]


def test_a_train_that_sees_its_master_killed_clears_up_itself(training: LabCluster) -> None:
    process = start(training, "watched")
    job = str(training.status()["jobs"][0]["job"])
    training.hosts[0].docker("kill", f"hvdocker-lab-{job}")
    assert wait_for_exit(process)[0] == 100
    assert hosts_hold_nothing(training)


def test_a_dry_run_shows_names_only(training: LabCluster) -> None:
    begin(training)
    env = {"TOKEN": TOKEN}
    shown = training.run("train", *SECRETS, "code/leak_secrets.py", "--dry-run", "--", "x", env=env).out
    assert "put TOKEN, CERT into hvdocker-lab-worker" in shown
    script = training.run("train", *SECRETS, "code/leak_secrets.py", "--dry-run", "--script", "--", "x", env=env).out
    assert "cert.pem" in script and "${TOKEN?}" in script
    for text in (shown, script):
        assert TOKEN not in text and "Tm8gcGVlcGlu" not in text
    assert hosts_hold_nothing(training)


def test_jobs_without_secrets_have_none_and_train_goes_on_after_a_rotation_of_keys(
    training: LabCluster,
) -> None:
    job = train_detached(training, "code/gate.py", "--", "before")
    await_ranks(training, "gate.py before")
    refused = training.run("keys", "rotate", check=1).err
    assert f"job {job} is running" in refused and f"hvdocker stop {job}" in refused
    open_gate(training, "before")
    training.run("logs", "-f", job)
    await_no_ranks(training)
    training.run("keys", "rotate")
    ranks = rank_reports(training.run("train", "code/report_environment.py").out)
    assert [rank["rank"] for rank in ranks] == [0, 1]
    assert all("HVDOCKER_SECRETS" not in rank["environment"] for rank in ranks)
