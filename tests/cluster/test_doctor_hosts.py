"""The doctor on hosts that are really broken: the cell, the evidence and the way out of each."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import PREFIX
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

Special = Callable[..., LabHost]
Cells = dict[tuple[str, str], dict[str, Any]]

SQUATTER = "$s = IO::Socket::INET->new(LocalPort => 23456, Listen => 1, ReuseAddr => 1) or die; sleep"
# The same worker from another image: what it was made of, committed.
OTHER_IMAGE = """
set -e
user=$(docker inspect -f '{{.Config.User}}' "$1")
docker commit "$1" other:build >/dev/null
docker rm -f "$1" >/dev/null
docker run -d --name "$1" --network host --user "$user" --cap-drop ALL other:build worker
"""
WRONG_DATE = '#!/bin/sh\n# STAND-IN for a clock that is off: a host shares the machine\'s.\n' \
             'echo $(($(/bin/date +%s) + 100))\n'  # fmt: skip
SMALL_HOME = """
set -e
mount -t tmpfs -o size=1m,uid=1000,gid=1000,mode=755 tmpfs /home/trainer
mkdir -m 700 /home/trainer/.ssh
printf '%s\\n' "$LAB_PUBLIC_KEY" > /home/trainer/.ssh/authorized_keys
chown -R trainer /home/trainer/.ssh
dd if=/dev/zero of=/home/trainer/fill bs=4k 2>/dev/null || true
"""
# STAND-IN for another card, by the lab's nvidia-smi.
OTHER_GPU = """
set -e
echo 1 > /etc/lab-gpus
ln -sf /opt/lab-gpu/nvidia-smi /usr/local/bin/
mkdir -p /run/lab-gpu/0
echo 'NVIDIA Other' > /run/lab-gpu/0/name
echo 470.82.01 > /run/lab-gpu/0/driver_version
"""
LIMITS = json.dumps(
    {
        "default-ulimits": {
            "memlock": {"Name": "memlock", "Hard": 65536, "Soft": 65536},
            "nofile": {"Name": "nofile", "Hard": 1024, "Soft": 1024},
        }
    }
)


def examine(site: LabCluster, code: int, *flags: str) -> tuple[Cells, dict[str, dict[str, Any]]]:
    """What `--json` says: by host and check, and across hosts by check."""
    told = json.loads(site.run("doctor", site.inventory, "--json", *flags, check=code).out)
    cells = {(host["host"], check["check"]): check for host in told["hosts"] for check in host["checks"]}
    return cells, {check["check"]: check for check in told["across"]}


def red(cells: Cells) -> set[tuple[str, str]]:
    return {key for key, cell in cells.items() if cell["mark"] == "bad"}


def amend(site: LabCluster, **of_hosts: dict[str, Any]) -> None:
    """Changes entries of the inventory, by the name of the host."""
    inventory = yaml.safe_load(site.inventory.read_text())
    inventory["hosts"] = [{**host, **of_hosts.get(host["name"], {})} for host in inventory["hosts"]]
    site.inventory.write_text(yaml.safe_dump(inventory))


@contextmanager
def hosts_file(host: LabHost, line: str) -> Iterator[None]:
    """With a line in front of the others. The engine has mounted the file: it is written, not replaced."""
    before = host.exec("cat /etc/hosts")
    host.exec(["sh", "-c", 'printf "%s\\n%s" "$1" "$2" > /etc/hosts', "sh", line, before])
    try:
        yield
    finally:
        host.exec(["sh", "-c", 'printf "%s" "$1" > /etc/hosts', "sh", before])


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    """A cluster that is up and has code."""
    site = LabCluster.write(lab, desk, lab.fresh(3))
    (site.folder / "code").mkdir()
    (site.folder / "code" / "model.py").write_text("layers = 3\n")
    site.up()
    desk.run("train", "-np", "3", "--workdir", "code", "--", "true", cwd=site.folder)
    yield site
    for host in site.hosts:
        host.repair()
    site.down("--discard")


def test_a_healthy_cluster_has_nothing_red_and_nothing_is_left_on_it(site: LabCluster) -> None:
    with untouched(*site.hosts):
        cells, across = examine(site, 0)
        shown = site.run("doctor", "-v").out
    assert red(cells) == set()
    for host in site.hosts:
        assert cells[host.name, "port"]["shown"] == "12345 held by its own worker"
        assert cells[host.name, "worker"]["shown"] == "running"
        assert cells[host.name, "login"]["shown"] == f"trainer, key {host.key()}"
        for check in ("login", "engine", "storage", "clock", "container", "shm", "image", "code", "name"):
            assert cells[host.name, check]["mark"] == "good", cells[host.name, check]
    assert {check: across[check]["mark"] for check in ("same image", "same code", "same python")} == {
        "same image": "good",
        "same code": "good",
        "same python": "good",
    }
    assert "3 hosts are fit to train" in shown and "BAD" not in shown


def test_init_ends_with_the_doctor(lab: Lab, desk: Cli, site: LabCluster) -> None:
    """Hosts by the names that ~/.ssh/config has for them."""
    config = desk.home / ".ssh" / "config"
    entries = [f"Host {host.name}\n  HostName {host.address}\n" for host in site.hosts[:2]]
    config.write_text("".join(entries) + f"Host *\n  User trainer\n  IdentityFile {lab.state.key}\n")
    folder = desk.cwd / "fresh"
    folder.mkdir()
    try:
        with untouched(*site.hosts):
            told = desk.run("init", "--all-ssh-hosts", cwd=folder, check=0)
            config.write_text(config.read_text().replace("User trainer", "User nobody-here"))
            refused = desk.run("init", "--all-ssh-hosts", "--force", cwd=folder, check=4)
    finally:
        config.unlink()
    assert "2 hosts are fit to train" in told.out and "next: hvdocker up inventory.yaml" in told.err
    assert "no SSH key was accepted" in refused.out and "next:" not in refused.err


def test_a_cluster_that_went_bad_under_way(site: LabCluster) -> None:
    """Each host in its own way; what is marked yellow does not stop a training."""
    h1, h2, h3 = site.hosts
    (site.folder / "code" / "model.py").write_text("layers = 5\n")
    site.cli.run("train", "-H", "h1:1,h2:1", "--workdir", "code", "--", "true", cwd=site.folder)
    h1.exec("echo 'layers = 4' > /home/trainer/.hvdocker/lab/h1/code/model.py")
    before = site.inspect_worker(h2)["Image"]
    h2.exec(["sh", "-c", OTHER_IMAGE, "sh", site.worker])
    h3.exec(
        [
            "sh",
            "-c",
            'mv /usr/local/bin/date /var/tmp/; printf "%s" "$1" > /usr/local/bin/date; chmod 755 /usr/local/bin/date',
            "sh",
            WRONG_DATE,
        ]
    )
    label = "--label hvdocker.cluster=lab --label hvdocker.role=doctor"
    h3.exec(f"docker create --name hvdocker-lab-doctor-old {label} {SMALL_IMAGE} true")
    h3.exec(f"docker tag {SMALL_IMAGE} hvdocker-part:1-x")
    h3.exec('mkdir /tmp/hvdocker.lock; echo \'{"owner": "eve"}\' > /tmp/hvdocker.lock/who.json')
    try:
        with hosts_file(h1, "127.0.1.1 alias h1"):
            cells, across = examine(site, 3)
    finally:
        h3.exec("mv -f /var/tmp/date /usr/local/bin/; rm -rf /tmp/hvdocker.lock; docker rmi hvdocker-part:1-x")
        h3.exec("docker rm hvdocker-lab-doctor-old")

    code = cells["h1", "code"]
    assert (code["mark"], code["evidence"]) == ("warn", ["model.py"]) and "hvdocker train" in code["fix"]
    name = cells["h1", "name"]
    assert name["mark"] == "good", "the containers have a name of their own"
    same = across["same code"]
    assert same["mark"] == "warn" and [line.split(":")[0] for line in same["evidence"]] == ["h1, h2", "h3"]
    assert "hvdocker train" in same["fix"]

    image = across["same image"]
    assert image["mark"] == "bad" and image["fix"].startswith("hvdocker up")
    assert len(image["evidence"]) == 2 and image["evidence"][0].startswith("h1, h3: ")
    assert before not in str(image["evidence"][1]) and image["evidence"][1].startswith("h2: ")
    assert cells["h2", "worker"]["mark"] == "warn" and "the image changed" in cells["h2", "worker"]["shown"]

    clock = cells["h3", "clock"]
    assert clock["mark"] == "warn" and clock["command"] == "date"
    assert clock["shown"].startswith("1 min") and clock["shown"].endswith("ahead of this machine")
    assert clock["fix"] == "sudo timedatectl set-ntp true" and "round trip" in clock["evidence"][0]
    left = cells["h3", "leftovers"]
    assert left["mark"] == "warn" and left["fix"].startswith("hvdocker down")
    assert [line.split(":")[0] for line in left["evidence"]] == ["hvdocker-lab-doctor-old", "hvdocker-part"]
    # By the clock of this host its lock is an old one.
    lock = cells["h3", "lock"]
    assert lock["mark"] == "warn" and lock["evidence"][0].startswith("eve@? is running")
    assert (
        "the next run takes it over" in lock["evidence"][1] and lock["fix"] == "hvdocker lock release -i inventory.yaml"
    )
    assert red(cells) == set()

    site.up()
    site.cli.run("train", "-np", "3", "--workdir", "code", "--", "true", cwd=site.folder)
    cells, across = examine(site, 0)
    assert red(cells) == set() and across["same image"]["mark"] == "good"
    for host in site.hosts:
        host.attempt("docker rmi other:build")


def test_hosts_that_would_not_do(lab: Lab, site: LabCluster, desk: Cli) -> None:
    """No engine, no way to its socket, somebody on the port, a peer's name that leads back, no mount, folders and
    names that are somebody else's."""
    h1, h2, _ = site.hosts
    sick = LabCluster.write(lab, desk, site.hosts, cluster="sick", port=23456, mounts=["/srv/nowhere:/data"], cpus=5000)
    amend(sick, h2={"host": "h2.lab"}, h3={"ssh": {"user": "outsider"}})
    (desk.home / ".ssh" / "config").write_text(f"Host h2.lab\n  HostName {h2.address}\n")
    h1.spawn(["perl", "-MIO::Socket::INET", "-e", SQUATTER, "squatter"], user="trainer")
    until(lambda: h1.attempt("grep -qi ':5BA0 ' /proc/net/tcp")[0] == 0 or None, "the squatter sits", 20)
    h1.exec("chown root /home/trainer/.hvdocker; chmod 755 /tmp; touch /tmp/hvdocker.lock")
    h1.exec(f"docker create --name {sick.worker} {SMALL_IMAGE}")
    taken = {"home-disk": "/home/trainer/.hvdocker is not writable", "tmp-disk": "/tmp is not writable",
             "lock": "the host cannot be locked: /tmp/hvdocker.lock is not as hvdocker makes it",
             "worker": "another container has its name"}  # fmt: skip
    try:
        with hosts_file(h1, "127.0.0.1 h2.lab"):
            h2.stop_engine()
            cells, _ = examine(sick, 3)
            h1.exec(cells["h1", "name"]["fix"])
            for check in taken:
                h1.exec(cells["h1", check]["fix"].partition("on the host: ")[2].partition(" (")[0])
            # Where h2 would train is not known while it has no engine: the name is only taken off.
            assert h1.attempt("getent hosts h2.lab")[1] == "" and "localhost" in h1.exec("cat /etc/hosts")
            mended, _ = examine(sick, 3)
            shown = sick.run("doctor", "-i", sick.inventory, check=3).out
    finally:
        h2.start_engine()
        h1.exec(
            "pkill -f '[s]quatter'; docker rm hvdocker-sick-worker-old; chmod 1777 /tmp;"
            "chown trainer /home/trainer/.hvdocker"
        )
        (desk.home / ".ssh" / "config").unlink()
    assert {check: cells["h1", check]["shown"] for check in taken} == taken
    assert not red(mended) & {("h1", check) for check in (*taken, "name")}
    port = cells["h1", "port"]
    assert port["mark"] == "bad" and "23456" in port["shown"] and "squatter" in port["evidence"][0]
    assert "`port:`" in port["fix"] and port["command"] == "ss -ltnp sport = :23456"
    cpu = cells["h1", "cpu"]
    assert cpu["mark"] == "bad" and "`cpus: 5000` is more than" in cpu["shown"] and cpu["evidence"]
    assert cpu["command"] == "nproc" and "write `cpus: " in cpu["fix"]
    name = cells["h1", "name"]
    assert (name["mark"], name["evidence"]) == ("bad", ["h2.lab resolves to 127.0.0.1"])
    assert name["command"] == "getent hosts h2.lab"
    mounts = cells["h1", "mounts"]
    assert mounts["mark"] == "bad" and mounts["evidence"][0].startswith("/srv/nowhere: no such file or folder")
    assert mounts["command"] == "ls -ld /srv/nowhere" and "sudo mkdir -p /srv/nowhere" in mounts["fix"]
    engine = cells["h2", "engine"]
    assert engine["mark"] == "bad" and engine["fix"] == "sudo systemctl start docker"
    assert engine["command"] == "docker version"
    assert engine["evidence"] == ["the docker CLI is there, the engine is not"]
    # What needs no engine is known all the same.
    assert cells["h2", "memory"]["mark"] == "good" and cells["h2", "home-disk"]["mark"] != "bad"
    denied = cells["h3", "engine"]
    assert denied["mark"] == "bad" and "usermod -aG docker outsider" in denied["fix"]
    assert denied["evidence"] == ["permission denied: /var/run/docker.sock", "sudo: a password is required"]
    assert "3 of 3 hosts are not fit to train: h1, h2, h3" in shown


def test_train_refuses_a_host_whose_home_is_full(site: LabCluster) -> None:
    """From what it looks at anyway; the worker there is as well as ever."""
    h1 = site.hosts[0]
    h1.exec(SMALL_HOME)
    try:
        refused = site.cli.run("train", "-np", "3", "--workdir", "code", "--", "true", cwd=site.folder)
    finally:
        h1.exec("umount /home/trainer")
    assert refused.code == 3 and "h1: the disk of /home/trainer is full: 0 B are free" in refused.err
    assert "$ df -h /home/trainer" in refused.err and "h2" not in refused.err


def test_hosts_that_cannot_be_reached(lab: Lab, site: LabCluster, desk: Cli, special: Special) -> None:
    h1, h2, h3 = site.hosts
    stranger = special("small", tmpfs_mb=150)
    far = LabCluster.write(lab, desk, [*site.hosts, stranger], cluster="far")
    amend(far, h2={"ssh": {"key": str(_key(desk.cwd))}})
    inventory = yaml.safe_load(far.inventory.read_text())
    inventory["hosts"] += [{"host": f"{PREFIX}99", "name": "ghost"}, {"host": "no.invalid", "name": "typo"}]
    far.inventory.write_text(yaml.safe_dump(inventory))
    other = _key(desk.cwd).with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    known = lab.state.known_hosts.read_text().splitlines()
    kept = [line for line in known if line.split()[0] not in (h3.address, stranger.address)]
    desk.pins_hosts = False
    (desk.home / ".ssh" / "known_hosts").write_text("\n".join([*kept, f"{h3.address} {other}", ""]))
    h1.exec("iptables -w -A INPUT -p tcp --dport 22 -j DROP")
    try:
        cells, _ = examine(far, 4)
    finally:
        h1.repair()
        desk.pins_hosts = True
    assert red(cells) == {
        ("h1", "answers"),
        ("h2", "login"),
        ("h3", "hostkey"),
        ("small", "hostkey"),
        ("ghost", "answers"),
        ("typo", "resolves"),
    }
    filtered = cells["h1", "answers"]
    assert filtered["shown"] == f"{h1.address}:22 did not answer in 10 s"
    assert f"trainer@{h1.address}" in filtered["command"] and filtered["evidence"] == ["timed out"]
    assert filtered["fix"].endswith("on the host: sudo ufw allow 22/tcp")
    down = cells["ghost", "answers"]
    assert f"{PREFIX}99:22" in down["shown"] and down["evidence"] and down["fix"].startswith("is the machine up")
    login = cells["h2", "login"]
    assert str(desk.cwd / "stranger") in login["evidence"][0] and "user trainer" in login["evidence"][0]
    assert f"ssh-copy-id -i {_key(desk.cwd)} trainer@{h2.address}" in login["fix"]
    assert cells["h2", "hostkey"]["mark"] == "good" and ("h2", "engine") not in cells
    changed = cells["h3", "hostkey"]
    assert "has changed" in changed["shown"] and f"ssh-keygen -R {h3.address}; then add --accept" in changed["fix"]
    assert "does not match" in changed["evidence"][0] and h3.address in changed["evidence"][0]
    assert "SHA256:" in cells["small", "hostkey"]["shown"]
    assert "--accept-new-host-keys" in cells["small", "hostkey"]["fix"]
    assert stranger.address in cells["small", "hostkey"]["evidence"][0]
    typo = cells["typo", "resolves"]
    assert typo["shown"] == "the name no.invalid does not resolve" and typo["evidence"]
    assert typo["command"] == "getent hosts no.invalid" and "`host: " in typo["fix"]


def _key(folder: Path) -> Path:
    path = folder / "stranger"
    if not path.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def test_full_disks_and_gpus_that_containers_do_not_get(lab: Lab, desk: Cli, special: Special) -> None:
    small, gpu = special("small", tmpfs_mb=150), special("gpu1", gpus=2)
    gpu.load(SMALL_IMAGE)
    site = LabCluster.write(lab, desk, [small, gpu], cluster="odd", shm="32MB")
    amend(site, gpu1={"ssh": {"user": "sudoer"}})
    small.exec(SMALL_HOME)
    small.exec(OTHER_GPU)
    uuid = gpu.exec("nvidia-smi --query-gpu=uuid --format=csv,noheader,nounits").split()[0]
    gpu.exec(
        f"mkdir -p /run/lab-gpu/0 /run/lab-gpu/1; echo '{uuid}, 1, init, 300' > /run/lab-gpu/apps; "
        "for i in 0 1; do echo Enabled > /run/lab-gpu/$i/persistence_mode; done; "
        "echo Enabled > /run/lab-gpu/1/mig.mode.current; echo Disabled > /run/lab-gpu/0/mig.mode.current"
    )
    gpu.exec("rm /usr/local/bin/nvidia-container-runtime-hook")
    gpu.exec(["sh", "-c", 'mkdir -p /etc/docker; echo "$1" > /etc/docker/daemon.json', "sh", LIMITS])
    gpu.stop_engine()
    gpu.start_engine()
    # The engine reports what the kernel says, and the kernel can be told to speak of an older CPU.
    small.stop_engine()
    small.start_engine("i686")
    try:
        with untouched(gpu):
            cells, across = examine(site, 3)
        refused = site.run("up", site.inventory, check=3)
    finally:
        small.exec("umount /home/trainer; rm -rf /etc/lab-gpus /usr/local/bin/nvidia-smi /run/lab-gpu")
        gpu.exec("ln -sf /opt/lab-gpu/* /usr/local/bin/; rm -rf /run/lab-gpu /etc/docker/daemon.json")
        for host in (small, gpu):
            host.stop_engine()
            host.start_engine()
    images = cells["small", "images-disk"]
    assert images["mark"] == "bad" and "the image takes about" in images["evidence"][0]
    assert images["command"] == "df -h /var/lib/docker" and "docker image prune" in images["fix"]
    home = cells["small", "home-disk"]
    assert home["mark"] == "bad" and home["shown"].startswith("full: 0 B") and "du -xsh" in home["fix"]
    assert home["evidence"][0].startswith("/home/trainer: 0 B of 1") and home["command"] == "df -h /home/trainer"
    assert cells["small", "image"]["mark"] == "unknown"
    assert cells["small", "image"]["fix"].startswith("hvdocker image push -i ")
    assert "small: the disk of /home/trainer is full" in refused.err and "→ free some space" in refused.err

    toolkit = cells["gpu1", "toolkit"]
    assert toolkit["mark"] == "bad" and "could not select device driver" in toolkit["evidence"][0]
    assert "--gpus all" in toolkit["command"] and "nvidia-container-toolkit" in toolkit["fix"]
    # Without GPUs it starts, and the rest is known.
    limits = {check: cells["gpu1", check] for check in ("shm", "memlock", "open-files")}
    assert {cell["mark"] for cell in limits.values()} == {"warn"}
    assert {check: cell["shown"] for check, cell in limits.items()} == {
        "shm": "only 32 MB",
        "memlock": "only 64 KB",
        "open-files": "at most 1024",
    }
    assert all(cell["evidence"] and cell["command"] for cell in limits.values())
    assert "`shm: 1GB`" in limits["shm"]["fix"] and '"memlock"' in limits["memlock"]["fix"]
    assert cells["gpu1", "gpus"]["mark"] == "warn" and "GPU 1: MIG is on" in cells["gpu1", "gpus"]["evidence"]
    users = cells["gpu1", "gpu-users"]
    assert (users["mark"], users["evidence"]) == ("warn", ["GPU 0: pid 1 init of root, 300 MB"])
    assert (users["shown"], users["fix"]) == ("in use by root", "wait, or ask them")
    assert cells["gpu1", "cuda"]["shown"] == "the image has no CUDA"
    socket = cells["gpu1", "socket"]
    assert socket["mark"] == "warn" and "sudo" in socket["shown"] and "usermod" in socket["fix"]
    other = cells["gpu1", "architecture"]
    assert "amd64, the other hosts are 386" in other["shown"] and "leave this host out" in other["fix"]
    assert other["evidence"] == ["386: small", "amd64: gpu1"] and other["command"] == "uname -m"
    assert across["same gpus"]["mark"] == across["same driver"]["mark"] == "warn"
    assert across["same gpus"]["evidence"] == ["small: NVIDIA Other", "gpu1: NVIDIA Lab Stand-In"]
    assert across["same driver"]["evidence"] == ["small: 470.82.01", "gpu1: 535.183.01"]
    assert across["same driver"]["fix"] == "install the same driver everywhere"
    assert red(cells) == {
        ("small", "images-disk"),
        ("small", "home-disk"),
        ("gpu1", "toolkit"),
        ("gpu1", "architecture"),
    }
