"""Two people, one set of hosts: a run that changes a host holds its lock, and says so to the others."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hvdocker.locks.holder import LOCK_DIR, Claim
from hvdocker.locks.lock_takeover_commands import release_lock, take_lock
from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

BOB = Claim("b0b", "bob", "desk", "bob", "image push", "theirs")


@pytest.fixture(scope="module")
def pair(lab: Lab) -> list[LabHost]:
    hosts = lab.fresh(2)
    for host in hosts:
        host.load(SMALL_IMAGE)
    return hosts


@pytest.fixture(scope="module")
def sites(lab: Lab, desk: Cli, pair: list[LabHost]) -> Iterator[tuple[LabCluster, LabCluster]]:
    """Two clusters on the same hosts, which the tests of this file bring up and take down."""
    one, two = (LabCluster.write(lab, desk, pair, cluster=name) for name in ("one", "two"))
    (one.folder / "train.py").write_text("")
    yield one, two
    for site in (one, two):
        site.down()
        assert cluster_leftovers(pair, site.cluster) == {}


@pytest.fixture(autouse=True)
def no_lock_is_left(pair: list[LabHost]) -> Iterator[None]:
    yield
    left = locks(pair)
    for host in pair:
        host.exec(f"rm -rf {LOCK_DIR}")
    assert left == {}


def locks(hosts: list[LabHost]) -> dict[str, str]:
    """Per host what is there of a lock; nothing when there is none."""
    found = {host.name: host.exec(f"cat {LOCK_DIR}/who.json || ls -d {LOCK_DIR}", check=False) for host in hosts}
    return {name: text for name, text in found.items() if text}


def hold(host: LabHost, user: str = "trainer", age_s: int = 0) -> None:
    """The lock as a run of bob's takes it; its last beat may be a while ago."""
    assert "state taken" in host.exec(list(take_lock(BOB).argv), user=user)
    host.exec(["touch", "-d", f"@{int(time.time()) - age_s}", f"{LOCK_DIR}/who.json"])


def let_go(host: LabHost, user: str = "trainer") -> None:
    host.exec(list(release_lock(BOB.token).argv), user=user)


def shown(site: LabCluster, check: int = 0) -> dict[str, dict[str, Any]]:
    report = json.loads(site.run("lock", "status", "--json", "-i", site.inventory, check=check).out)
    return {host["name"]: host for host in report["hosts"]}


def killed_during_up(site: LabCluster) -> None:
    """SIGKILL while it waits for workers that it has just started: nothing is given back."""
    process = site.cli.start("up", site.inventory, cwd=site.folder, env={"HVDOCKER_OWNER": "ada"})
    assert process.stderr is not None
    while "wait for sshd" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_two_at_once_on_the_same_hosts_both_succeed(sites: tuple[LabCluster, LabCluster], pair: list[LabHost]) -> None:
    for words in (
        ["up", "--lock-wait", "300"],
        ["down", "-y", "--lock-wait", "300"],
        ["up", "--lock-wait", "300"],
    ):
        running = [site.cli.start(*words, "-i", site.inventory, cwd=site.folder) for site in sites]
        said = [process.communicate(timeout=600) for process in running]
        assert [process.returncode for process in running] == [0, 0], said
        assert locks(pair) == {}
    ports = [{host["port"] for host in site.status()["hosts"]} for site in sites]
    assert all(len(used) == 1 for used in ports) and ports[0] != ports[1]
    for site in sites:
        assert site.logins() == site.full_mesh()
        assert site.up().out.startswith("nothing to do")


def test_a_held_host_is_left_alone_and_its_holder_named(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    one, _ = sites
    one.up()
    pair[0].tiny_image()
    pair[1].attempt(["docker", "rmi", "-f", "tiny:lab"])
    hold(pair[1])
    pushing = ("image", "push", "tiny:lab")
    with untouched(*pair):
        for words in (("down", "-y"), ("train", "train.py", "--lock-wait", "0"), ("keys", "rotate"), pushing):
            result = one.run(*words, check=5)
            assert "error: h2: the host is locked: bob@desk is running `image push` of cluster theirs" in result.err
            assert "--lock-wait 60" in result.err and "hvdocker lock release h2 -i " in result.err
            assert "--force" in result.err, "bob is another owner"
        # Nothing to do needs no lock, and a dry run takes none.
        assert one.up().out.startswith("nothing to do")
        one.run("down", "--dry-run")
        one.run("train", "train.py", "--dry-run")
        one.run(*pushing, "--dry-run")
    before = shown(one)
    assert before["h1"]["state"] == "free" and before["h1"]["held_by"] is None
    assert before["h2"]["state"] == "held" and before["h2"]["held_by"]["owner"] == "bob"

    waiting = one.cli.start(*pushing, "--lock-wait", "120", cwd=one.folder)
    assert waiting.stderr is not None
    while "waiting: bob@desk is running" not in waiting.stderr.readline():
        assert waiting.poll() is None
    let_go(pair[1])
    out, err = waiting.communicate(timeout=120)
    assert (waiting.returncode, out) == (0, "tiny:lab is on 2 hosts\n"), err
    assert locks(pair) == {}
    # `train` waits unasked.
    hold(pair[1])
    pair[1].exec(f'sed -i \'s/"since": [0-9]*/"since": 1/\' {LOCK_DIR}/who.json')
    waiting = one.cli.start("train", "train.py", cwd=one.folder)
    next(line for line in lines_of(waiting) if "waiting: bob@desk is running" in line)
    let_go(pair[1])
    waiting.communicate(timeout=120)
    assert waiting.returncode == 0
    assert locks(pair) == {}
    one.down("--discard")


def test_a_killed_run_leaves_its_locks_to_be_released_or_to_go_stale(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    one, two = sites
    one.down()
    two.down()
    killed_during_up(one)
    for host in pair:
        host.exec(f"touch {LOCK_DIR}/who.json")
    held = shown(two)
    assert {name: host["held_by"]["verb"] for name, host in held.items()} == {"h1": "up", "h2": "up"}
    assert {host["held_by"]["cluster"] for host in held.values()} == {"one"}
    ours, theirs = {"HVDOCKER_OWNER": "ada"}, {"HVDOCKER_OWNER": "bob"}
    release = ("lock", "release", "-i", two.inventory)
    assert "say -y" in two.run(*release, check=2, env=ours).err
    refused = two.run(*release, "-y", check=5, env=theirs).err
    # The hosts' clocks differ, so the ages of the locks may differ too.
    assert refused.count("the lock belongs to ada@") in (1, 2) and "h1" in refused and "h2" in refused
    assert "--force" in refused
    assert "h9 is not in the inventory" in two.run(*release, "h9", check=2).err
    assert set(locks(pair)) == {"h1", "h2"}
    assert "h1: released the lock of ada@" in two.run(*release, "h1", "-y", env=ours).out
    assert set(locks(pair)) == {"h2"}

    # The other goes stale; the next run says so, and takes it over.
    pair[1].exec(["touch", "-d", "2 minutes ago", f"{LOCK_DIR}/who.json"])
    assert shown(two)["h2"]["state"] == "stale"
    assert "stale" in two.run("lock", "status", "-i", two.inventory).out
    taken = two.run("up", two.inventory, env=theirs).err
    assert "h2" in taken and "took over the stale lock of ada@" in taken
    assert "`up` of cluster one" in taken and "no sign of life for 2 min" in taken
    assert locks(pair) == {}
    assert two.run(*release, "-y").out == "nothing to do: no host is locked\n"
    one.run("down", "-y", env=ours)
    two.run("down", "-y", env=theirs)


def test_a_run_whose_lock_was_taken_away_stops_and_undoes_nothing(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    """Its hosts' engines stand still meanwhile, so that it cannot be done before it notices."""
    one, _ = sites
    one.down()
    process = one.cli.start("up", one.inventory, cwd=one.folder)
    said = lines_of(process)
    next(line for line in said if "create hvdocker-one-worker" in line)
    signal_engines(pair, "STOP")
    try:
        for host in pair:
            token = json.loads(host.exec(f"cat {LOCK_DIR}/who.json"))["token"]
            host.exec(list(release_lock(token).argv), user="trainer")
            hold(host)
        next(line for line in said if "this run stops" in line and "bob@desk is running" in line)
    finally:
        signal_engines(pair, "CONT")
    rest = "".join(said)
    assert process.wait(120) == 5, rest
    assert "was taken away from this run: bob@desk is running `image push`" in rest.partition("error: ")[2]
    assert "undo" not in rest and "what was made so far is still there" in rest
    assert set(locks(pair)) == {"h1", "h2"}, "bob's"
    for host in pair:
        let_go(host)
    one.up()
    one.down()


def test_a_down_with_nothing_to_do_takes_away_the_lock_of_a_dead_run(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    """As a host keeps it that was off while the run gave its locks back. One that is held stays."""
    one, _ = sites
    one.down()
    hold(pair[0], age_s=100)
    hold(pair[1])
    done = one.down()
    assert done.out.startswith("nothing to do") and "released the lock of bob@desk, which is gone" in done.err
    assert set(locks(pair)) == {"h2"}
    let_go(pair[1])


def lines_of(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stderr is not None
    return iter(process.stderr.readline, "")


def signal_engines(hosts: list[LabHost], name: str) -> None:
    for host in hosts:
        host.exec(f"kill -{name} $(pgrep -x dockerd)")


def test_the_lock_of_another_user_of_the_host(
    lab: Lab, sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    """In a sticky /tmp nobody can remove the other's folder: it stays, empty, and is used again."""
    one, _ = sites
    first, second = pair
    hold(first, "sudoer")
    hold(second, "sudoer", age_s=100)
    before = shown(one)
    assert (before["h1"]["state"], before["h2"]["state"]) == ("held", "stale")
    one.run("lock", "release", "h1", "--force", "-y", "-i", one.inventory)
    assert "took over the stale lock of bob@desk" in one.up().err
    for host in pair:
        assert host.exec(f"ls -A {LOCK_DIR}; stat -c '%U %a' {LOCK_DIR}") == "sudoer 777\n"
    assert {host["state"] for host in shown(one).values()} == {"free"}
    one.down()
    for host in pair:
        hold(host, "sudoer")
        let_go(host, "sudoer")
    assert locks(pair) == {}


def test_what_others_put_in_the_way_is_shown_and_not_written_through(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    one, _ = sites
    first, second = pair
    first.exec("mkdir /home/outsider/bait && chmod 777 /home/outsider/bait /home/outsider", user="outsider")
    first.exec(["ln", "-s", "/home/outsider/bait", LOCK_DIR], user="outsider")
    second.exec(["mkdir", "-m", "755", LOCK_DIR], user="outsider")
    try:
        with untouched(*pair):
            result = one.run("up", one.inventory, check=3)
        assert f"{LOCK_DIR} is not a folder" in result.err and "-> /home/outsider/bait" in result.err
        assert "you may not write there" in result.err and "outsider" in result.err
        assert f"sudo rm -rf {LOCK_DIR}" in result.err
        assert shown(one, check=3)["h1"]["state"] == "unusable"
    finally:
        first.exec("rm -rf /home/outsider/bait; chmod 700 /home/outsider")
        for host in pair:
            host.exec(f"rm -rf {LOCK_DIR}")


def test_a_full_tmp_is_named_and_down_goes_on_without_a_lock(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    """The first host's /tmp is full, the second's is read-only."""
    one, _ = sites
    one.up()
    for host in pair:
        host.exec("mount -t tmpfs -o size=8k,mode=1777 tmpfs /tmp")
    pair[0].exec("head -c 8192 /dev/zero > /tmp/filler")
    pair[1].exec("mount -o remount,ro /tmp")
    try:
        with untouched(*pair):
            refused = one.run("keys", "rotate", check=3).err
        assert refused.count("nothing can be written in its /tmp") == 2 and "sudo du -xah /tmp" in refused
        assert "100% /tmp" in refused and "rm -rf" not in refused
        assert "Read-only file system" in refused
        assert locks(pair) == {}, "no empty folder stays"
        assert {host["state"] for host in shown(one).values()} == {"free"}
        taken_down = one.down().err
        assert taken_down.count("goes on without a lock") == 2
    finally:
        for host in pair:
            host.exec("umount /tmp")
    assert cluster_leftovers(pair, "one") == {}


def test_a_failed_up_gives_the_locks_back_and_a_host_that_is_away_is_named(
    sites: tuple[LabCluster, LabCluster], pair: list[LabHost]
) -> None:
    _, two = sites
    pair[1].exec(f"iptables -w -I INPUT -p tcp -s {pair[0].address} -m multiport --dports 12345:12349 -j REJECT")
    try:
        failed = two.run("up", two.inventory, check=3)
    finally:
        pair[1].exec("iptables -w -F INPUT")
    assert "h1 cannot log in to every worker" in failed.err
    assert locks(pair) == {} and cluster_leftovers(pair, "two") == {}

    pair[1].stop_sshd()
    try:
        hold(pair[0])
        away = shown(two, check=4)
        assert (away["h1"]["state"], away["h2"]["state"]) == ("held", "unreachable")
        released = two.run("lock", "release", "--force", "-y", "-i", two.inventory, check=4).err
        assert "h2" in released and "refuses connections" in released and locks(pair) == {}
    finally:
        pair[1].start_sshd()


def test_another_owners_cluster_is_not_trained_on(sites: tuple[LabCluster, LabCluster], pair: list[LabHost]) -> None:
    one, _ = sites
    one.up()
    other = {"HVDOCKER_OWNER": "somebody-else"}
    with untouched(*pair):
        refused = one.run("train", "train.py", env=other, check=1)
        assert "belongs to" in refused.err and "--force" in refused.err
    one.run("train", "train.py", "--force", env=other)
    one.down("--discard", "--force")
