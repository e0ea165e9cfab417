"""More people than slots: first come, first served; the dead are passed over, and nobody jumps the queue."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hvdocker.locks.ticket import QUEUE_DIR, TicketText
from hvdocker.locks.ticket_commands import join_queue, leave_queue, read_tickets
from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.training import DEADLINE_S, open_gate, train_detached, training_cluster, wait_for_exit

ROUNDS = 20
BEATER = "/tmp/lab-beater.pid"
BOB = TicketText("b0b", "bob", "desk", "bob", "train", "lab", wish="1 slot")


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[LabCluster]:
    """Two hosts with a GPU each, which stands in for hardware."""
    with training_cluster(lab, desk, gpus=1, launcher=launcher) as site:
        yield site


@pytest.fixture(autouse=True)
def nobody_is_left(site: LabCluster) -> Iterator[None]:
    yield
    left = {host.name: host.attempt(["ls", "-A", QUEUE_DIR])[1] for host in site.hosts}
    for host in site.hosts:
        host.exec(f"rm -rf {QUEUE_DIR}")
    assert left == {host.name: "" for host in site.hosts}


def seen(site: LabCluster, folder: Path | None = None) -> dict[str, Any]:
    said = site.cli.run("jobs", "--json", "-i", site.inventory, cwd=folder or site.folder, check=0)
    return dict(json.loads(said.out))


def line(site: LabCluster) -> list[str]:
    """The owners of those who wait, in order."""
    queue = seen(site)["queue"]
    assert [place["position"] for place in queue] == list(range(1, len(queue) + 1))
    return [place["owner"] for place in queue]


def queue_up(site: LabCluster, owner: str, gate: str, *words: str) -> "subprocess.Popen[str]":
    """A `train --queue` for the slot of h1, once it has its place."""
    process = site.cli.start(
        *("train", "--queue", "--force", "-H", "h1:1", *words, "code/gate.py", "--", gate),
        cwd=site.folder,
        env={"HVDOCKER_OWNER": owner},
    )
    said = until_said(process, " in the queue")
    assert "held by" in said or "after" in said
    return process


def until_said(process: "subprocess.Popen[str]", text: str) -> str:
    """Read what the process says until a line has this text. A process that does not say it in time is killed."""
    assert process.stderr is not None
    # Lines that arrive together are read one by one: a look at the pipe would not see the second.
    watchdog = threading.Timer(DEADLINE_S, process.kill)
    watchdog.start()
    try:
        for said in iter(process.stderr.readline, ""):
            if text in said:
                return said
    finally:
        watchdog.cancel()
    raise AssertionError(f"it never said {text!r}")


def running(site: LabCluster) -> dict[str, str]:
    return {job["owner"]: job["job"] for job in seen(site)["jobs"] if job["state"] == "running"}


def await_owner(site: LabCluster, owner: str) -> None:
    until(lambda: owner in running(site) or None, f"{owner}'s job runs", DEADLINE_S)


def queue_host(site: LabCluster) -> LabHost:
    [name] = {place["host"] for place in seen(site)["queue"]}
    return next(host for host in site.hosts if host.name == name)


def put(host: LabHost, sign: TicketText) -> str:
    """The ticket of somebody on another machine, which is renewed until `fall_silent`."""
    answer = read_tickets(host.exec(list(join_queue(sign).argv), user="trainer"))
    assert answer is not None
    ticket = f"{QUEUE_DIR}/{answer.number}"
    host.spawn(["sh", "-c", f"echo $$ > {BEATER}; while touch -c {ticket}; do sleep 5; done"], "trainer")
    until(lambda: host.attempt(["test", "-s", BEATER])[0] == 0 or None, "it beats", DEADLINE_S)
    return ticket


def fall_silent(host: LabHost, ticket: str) -> None:
    host.exec(f"kill $(cat {BEATER}) && rm {BEATER}")
    host.exec(["touch", "-c", "-d", "75 seconds ago", ticket])


@pytest.mark.parametrize("launcher", ["horovod", "torch", "each"], indirect=True, scope="module")
def test_first_come_first_served_without_the_dead(site: LabCluster, tmp_path: Path) -> None:
    holder = train_detached(site, "-H", "h1:1", "code/gate.py", "--", "hold")
    kim = queue_up(site, "kim", "kims")
    lee = queue_up(site, "lee", "lees")
    home = queue_host(site)
    ticket = put(home, BOB)
    max_ = queue_up(site, "max", "maxs")
    ned = queue_up(site, "ned", "neds")
    assert line(site) == ["kim", "lee", "bob", "max", "ned"]

    # From anywhere, with nothing but the inventory.
    report = seen(site, tmp_path)
    first = report["jobs"][0]
    assert (first["job"], first["state"], first["placement"]) == (holder, "running", {"h1": 1})
    assert (first["cluster"], first["np"], first["host"]) == ("lab", 1, "h1")
    assert report["queue"][0] == {**report["queue"][0], "owner": "kim", "wants": "h1:1", "cluster": "lab"}
    shown = site.cli.run("jobs", site.inventory, cwd=tmp_path, check=0).out
    assert holder in shown and "kim@" in shown and "h1:1 for `train`" in shown

    # There is room on h2, but others came before.
    refused = site.run("train", "code/gate.py", "-np", "1", "--", "jumped", check=6).err
    assert "1 slot is free, but kim's train of h1:1 and 4 others wait before you" in refused
    assert "--queue" in refused

    ned.send_signal(signal.SIGINT)
    code, _, err = wait_for_exit(ned)
    assert code == 130 and "left the queue" in err
    assert line(site) == ["kim", "lee", "bob", "max"]
    lee.kill()
    wait_for_exit(lee)
    assert line(site) == ["kim", "bob", "max"], "a process of this machine is known to be gone"

    open_gate(site, "hold")
    await_owner(site, "kim")
    assert line(site) == ["bob", "max"]
    open_gate(site, "kims")
    code, out, err = wait_for_exit(kim)
    assert code == 0 and "kims has come" in out, err
    # Bob is alive as far as anybody knows: his turn it is, until he is silent for a minute.
    until_said(max_, "2nd in the queue: after bob's train of 1 slot")
    fall_silent(home, ticket)
    await_owner(site, "max")
    assert line(site) == []
    open_gate(site, "maxs")
    code, out, _ = wait_for_exit(max_)
    assert code == 0 and "maxs has come" in out
    assert sorted(job["owner"] for job in seen(site)["jobs"]) == sorted(["kim", "max", first["owner"]])


def test_what_nobody_should_wait_for_is_refused_at_once(site: LabCluster) -> None:
    detached_words = site.run("train", "--queue", "-d", "code/gate.py", check=2).err
    assert "detached nobody would wait" in detached_words and "tmux" in detached_words
    assert "3 wanted, 2 free" in site.run("train", "--queue", "-np", "3", "code/gate.py", check=6).err


def test_a_lost_link_to_the_queue_ends_the_waiting(site: LabCluster) -> None:
    holder = train_detached(site, "-H", "h1:1", "code/gate.py", "--", "lost")
    kim = queue_up(site, "kim", "kims-again")
    home = queue_host(site)
    # The host keeps it, and others behind it, for a minute.
    kim_token = json.loads(home.exec(f"cat {QUEUE_DIR}/*"))["token"]
    home.stop_sshd()
    try:
        code, _, err = wait_for_exit(kim)
    finally:
        home.start_sshd()
    assert code == 4 and "where the queue is kept, is lost" in err
    assert "the place is kept there for 60 s" in err
    name = home.exec(f"ls {QUEUE_DIR}").strip()
    home.exec(list(leave_queue(kim_token, int(name)).argv), user="trainer")
    assert "is stopped" in site.run("stop", holder).out


def test_of_two_who_race_for_the_last_slot_one_gets_it_and_the_other_is_told_who(site: LabCluster) -> None:
    train_detached(site, "-H", "h1:1", "code/gate.py", "--", "raced")
    words = ("train", "-d", "-np", "1", "--workdir", "code", "--", "sleep", "600")
    for _ in range(ROUNDS):
        both = [site.cli.start(*words, cwd=site.folder) for _ in range(2)]
        said = [(*process.communicate(timeout=DEADLINE_S), process.returncode) for process in both]
        said.sort(key=lambda one: one[2])
        (won, _, first), (_, lost, second) = said
        assert (first, second) == (0, 6), said
        job = won.strip()
        assert f"held by {job}" in lost and "--queue" in lost
        site.hosts[1].docker("kill", f"hvdocker-{site.cluster}-{job}")
    open_gate(site, "raced")
    until(lambda: not running(site) or None, "nothing runs", DEADLINE_S)
