"""Code on real hosts over real links: only what changed travels, whole or not at all."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from hvdocker.errors import HostUnfit, HostUnreachable, UsageProblem
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.shell.command import Command
from hvdocker.sync.codec import Codec
from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import SyncOptions, SyncReport, sync_all
from hvdocker.sync.walk import read_tree
from hvdocker.transport.link import CommandResult
from hvdocker.transport.ssh.link import SshLink, open_ssh
from tests.cluster.cli import Cli, binary
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster

CODE = "/home/trainer/.hvdocker/lab/code"
MB = 1 << 20


class CountedLink:
    """A real link; counts round trips."""

    def __init__(self, link: SshLink) -> None:
        self.name, self.trips = link.name, 0
        self._link = link

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
    ) -> CommandResult:
        self.trips += 1
        return self._link.run(command, stdin, timeout_s)

    def pasteable(self, command: Command) -> str:
        return self._link.pasteable(command)


@dataclass
class Project:
    """A folder here and its copies on hosts of the lab."""

    here: Path
    hosts: list[LabHost]
    key: Path
    cache: HashCache
    links: dict[str, CountedLink] = field(default_factory=dict)

    def connect(self) -> None:
        for host in self.hosts:
            ssh = SshSettings(user="trainer", key=str(self.key))
            self.links[host.name] = CountedLink(open_ssh(Host(host.name, host.address, ssh=ssh)))

    def write(self, name: str, content: str | bytes = "x") -> Path:
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def sync_each(self, how: SyncOptions | None = None) -> Mapping[str, SyncReport]:
        for link in self.links.values():
            link.trips = 0
        targets = {name: SyncTarget(link, CODE) for name, link in self.links.items()}  # type: ignore[arg-type]  # no engine
        return sync_all(targets, read_tree(self.here, self.cache), how).or_raise("sync failed")

    def sync(self, how: SyncOptions | None = None) -> SyncReport:
        """The same for every host."""
        (report,) = set(self.sync_each(how).values())
        return report

    @property
    def trips(self) -> set[int]:
        return {link.trips for link in self.links.values()}

    def is_everywhere(self) -> bool:
        wanted = listed(self.here)
        for host in self.hosts:
            has = held(host)
            print(f"{host.name} differs in", sorted(dict(has.items() ^ wanted.items())))
            if has != wanted:
                return False
        return True


def listed(folder: Path) -> dict[str, tuple[str, str]]:
    """Every file with its mode and hash, every link with its target."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[path.relative_to(folder).as_posix()] = ("link", str(path.readlink()))
        elif path.is_file():
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            found[path.relative_to(folder).as_posix()] = (f"{stat.S_IMODE(path.stat().st_mode):o}", sha256)
    return found


def held(host: LabHost) -> dict[str, tuple[str, str]]:
    links = host.exec(f"cd {CODE} && find . -type l -printf '%P link %l\\n'")
    files = host.exec(f"cd {CODE} && find . -type f -printf '%P\\n' | while read -r f; do "
                      'echo "$f $(stat -c %a "$f") $(sha256sum < "$f" | cut -c-64)"; done')  # fmt: skip
    rows = [line.split(" ") for line in (links + files).splitlines()]
    return {name: (mode, what) for name, mode, what in rows}


def beside(host: LabHost) -> list[str]:
    return host.exec(f"ls {CODE}.sync").split()


@pytest.fixture
def project(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    hosts = lab.fresh(2)
    shutil.copy(lab.state.known_hosts, home / ".ssh" / "known_hosts")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    here = tmp_path / "project"
    here.mkdir()
    made = Project(here, hosts, lab.state.key, HashCache(tmp_path / "cache"))
    made.connect()
    yield made
    for link in made.links.values():
        link._link.close()
    for host in hosts:
        host.repair()
        host.exec("rm -rf /home/trainer/.hvdocker/lab")


def test_every_kind_of_change_arrives_and_nothing_else_travels(project: Project) -> None:
    for number in range(200):
        project.write(f"pkg{number % 10}/module{number}.py", f"print({number})\n")
    project.write("run.sh").chmod(0o755)
    (project.here / "latest").symlink_to("pkg1")
    assert project.sync().sent == 202
    assert project.is_everywhere()
    project.write("pkg0/module0.py", "changed")
    (project.here / "pkg1" / "module1.py").unlink()
    (project.here / "pkg2" / "module2.py").rename(project.here / "renamed.py")
    (project.here / "run.sh").chmod(0o640)
    (project.here / "latest").unlink()
    (project.here / "latest").symlink_to("pkg2")
    shutil.rmtree(project.here / "pkg3")
    project.write("pkg3", "a file now")
    report = project.sync()
    assert (report.sent, report.removed) == (5, 22)
    assert project.is_everywhere()
    assert project.trips == {2}
    assert {tuple(beside(host)) for host in project.hosts} == {("index", "paths")}


def test_nothing_changed_is_one_round_trip(project: Project) -> None:
    for number in range(300):
        project.write(f"{number}.py")
    project.sync()
    report = project.sync()
    assert (report.sent, report.wire_bytes, project.trips) == (0, 0, {1})


def test_what_happened_on_a_host_is_mended_and_what_jobs_wrote_stays(project: Project) -> None:
    for name in ("a.py", "b.py", "c.py", "pkg/d.py"):
        project.write(name, name)
    project.sync()
    victim = project.hosts[1]
    victim.exec(f"cd {CODE} && echo evil > a.py && touch -r c.py a.py && rm b.py && chmod 600 c.py")
    victim.exec(f"cd {CODE} && mkdir out && echo w > out/model")
    sent = {name: report.sent for name, report in project.sync_each().items()}
    assert sent == {project.hosts[0].name: 0, victim.name: 3}
    assert victim.exec(f"cat {CODE}/out/model") == "w\n"
    victim.exec(f"rm -r {CODE}/out")
    assert project.is_everywhere()


@pytest.mark.parametrize("closed", [f"{CODE}/data/in", CODE])
def test_a_folder_that_a_job_closed_stops_no_later_sync(project: Project, closed: str) -> None:
    project.write("data/in/a.txt", "old")
    gone = project.write("data/in/b.txt", "old")
    project.sync()
    for host in project.hosts:
        host.exec(f"chmod a-w {CODE}/data/in/a.txt {CODE}/data && chmod {'000' if closed == CODE else '555'} {closed}")
    project.write("data/in/a.txt", "new")
    gone.unlink()
    project.sync()
    assert project.is_everywhere()


def test_a_file_that_changes_under_it_is_named_and_no_host_takes_it(project: Project) -> None:
    project.write("train.py", "old")
    project.sync()
    project.write("train.py", "new")
    log = project.write("log.bin", os.urandom(60 * MB))

    def write(name: str, done: int, total: int) -> None:
        with log.open("r+b") as file:
            file.seek(-5, os.SEEK_END)
            file.write(b"later")

    with pytest.raises(UsageProblem, match=r"log\.bin changed while it was being synced"):
        project.sync(SyncOptions(progress=write))
    for host in project.hosts:
        assert host.exec(f"cd {CODE} && ls && cat train.py") == "train.py\nold"
    assert project.sync().sent == 2
    assert project.is_everywhere()


def test_a_link_that_is_cut_leaves_whole_files_and_the_next_sync_makes_it_good(project: Project) -> None:
    project.write("train.py", "old")
    project.sync()
    project.write("train.py", "new")
    project.write("data.bin", os.urandom(80 * MB))
    victim = project.hosts[1]

    def cut(name: str, done: int, total: int) -> None:
        if name == victim.name and done > total // 2:
            victim.exec("pkill -KILL -u trainer sshd; true")

    with pytest.raises(HostUnreachable) as caught:
        project.sync(SyncOptions(progress=cut))
    assert caught.value.host == victim.name
    assert victim.exec(f"cd {CODE} && ls && cat train.py") == "train.py\nold"
    project.connect()
    project.sync_each()
    assert project.is_everywhere()
    assert {tuple(beside(host)) for host in project.hosts} == {("index", "paths")}


def test_a_full_disk_is_a_clear_error_and_takes_nothing_away(project: Project) -> None:
    project.write("train.py", "old")
    small = project.hosts[1]
    disk = "/home/trainer/.hvdocker/lab"
    small.exec(f"mkdir -p {disk} && mount -t tmpfs -o size=30m,mode=777 tmpfs {disk}")
    try:
        project.sync()
        project.write("train.py", "new")
        project.write("data.bin", os.urandom(40 * MB))
        with pytest.raises(HostUnfit, match="the disk is full") as caught:
            project.sync()
        assert caught.value.host == small.name and caught.value.lines and caught.value.fix
        assert small.exec(f"cd {CODE} && ls && cat train.py") == "train.py\nold"
        (project.here / "data.bin").unlink()
        project.sync_each()
        assert project.is_everywhere()
    finally:
        small.exec(f"umount {disk}")


def test_a_slow_link_gets_compressed_what_can_be(project: Project) -> None:
    """With zstd where the host has it, which fresh machines do not."""
    for host in project.hosts:
        limit = "-m hashlimit --hashlimit-above 2mb/s --hashlimit-name slow"
        host.exec(f"iptables -w -A INPUT -p tcp --dport 22 {limit} -j DROP")
    first, *others = project.hosts
    first.exec("ln -sf /opt/lab-zstd/zstd /usr/local/bin/zstd")
    project.write("text.txt", "".join(f"{number} is a line of a text\n" for number in range(900_000)))
    try:
        codecs = {name: report.codec for name, report in project.sync_each().items()}
    finally:
        first.exec("rm -f /usr/local/bin/zstd")
    assert codecs == {first.name: Codec.ZSTD, **{host.name: Codec.GZIP for host in others}}
    assert project.is_everywhere()
    project.write("random.bin", os.urandom(10 * MB))
    assert project.sync().codec is Codec.NONE
    assert project.is_everywhere()


# A file is changed, and the index is made to say that it always looked like that: $1 the state, $2 the code.
HIDDEN_CHANGE = """
set -e
export TZ=UTC0 LC_ALL=C
cd "$2"
printf evil > train.py
xargs -0 stat -c //%f/%s/%y/%z/%n < "$1/paths" > /tmp/listing
read -r id _ < "$1/index"
rows=$(sed -n 2p "$1/index")
digest=$(sha256sum < /tmp/listing)
{ printf '%s %s\\n%s\\n' "$id" "${digest%% *}" "$rows"; cat /tmp/listing; } > "$1/forged"
mv "$1/forged" "$1/index"
"""

NOT_ROOT = """#!/bin/sh
exec setpriv --bounding-set={less} --inh-caps={less} {program} "$@"
"""


def test_through_the_program(lab: Lab, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person sees."""
    site = LabCluster.write(lab, cli, lab.fresh(2), user="trainer")
    code = site.folder / "code"
    code.mkdir()
    (code / "train.py").write_text("good")
    (code / "private.py").write_text("x")
    (code / "private.py").chmod(0o600)
    site.up()
    first = site.run("train", "code/train.py", check=None)
    assert first.err.count("2 files sent (5 B), 0 removed") == 2
    for host in site.hosts:
        assert site.exec_in_worker(host, "cat", "/train/private.py")[1] == "x"
    assert "sent" not in site.run("train", "code/train.py", check=None).err
    for host in site.hosts:
        folder = f"{site.folder_on(host)}/code"
        host.exec(["sh", "-c", HIDDEN_CHANGE, "sh", f"{folder}.sync", folder], user="trainer")
    assert "sent" not in site.run("train", "code/train.py", check=None).err
    assert [site.exec_in_worker(host, "cat", "/train/train.py")[1] for host in site.hosts] == ["evil", "evil"]
    assert site.run("train", "--checksum", "code/train.py", check=None).err.count("1 file sent") == 2
    assert [site.exec_in_worker(host, "cat", "/train/train.py")[1] for host in site.hosts] == ["good", "good"]
    (code / "private.py").chmod(0)
    wrapper = tmp_path / "hvdocker"
    wrapper.write_text(NOT_ROOT.format(program=binary(), less="-dac_override,-dac_read_search"))
    wrapper.chmod(0o755)
    monkeypatch.setenv("HVDOCKER_BIN", str(wrapper))
    refused = site.run("train", "--checksum", "code/train.py", check=2)
    assert f"cannot read {code}/private.py: Permission denied" in refused.err
    assert ".hvdockerignore" in refused.err
    monkeypatch.undo()
    site.down("--discard")


def test_a_container_of_another_user_can_read_the_code(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(1))
    inventory = yaml.safe_load(site.inventory.read_text())
    site.inventory.write_text(yaml.safe_dump({**inventory, "user": "1234:1234"}))
    (site.folder / "pkg").mkdir()
    (site.folder / "pkg" / "private.py").write_text("x")
    (site.folder / "pkg" / "private.py").chmod(0o600)
    site.up()
    site.run("train", "-m", "nothing", check=None)
    assert site.exec_in_worker(site.hosts[0], "id", "-u")[1] == "1234\n"
    assert site.exec_in_worker(site.hosts[0], "cat", "/train/pkg/private.py")[1] == "x"
    site.down("--discard")


LOGGED = {
    "redirected": 'exec {program} "$@" > {log} 2>&1',
    "tee": '{program} "$@" 2>&1 | tee {log}; exit 0',
}


@pytest.mark.parametrize("way", LOGGED)
def test_a_log_of_train_in_the_code_folder(
    lab: Lab, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(1), user="trainer")
    code = site.folder / "code"
    code.mkdir()
    (code / "train.py").write_text("good")
    site.up()
    wrapper, log = tmp_path / "hvdocker", code / "train.log"
    wrapper.write_text("#!/bin/sh\n" + LOGGED[way].format(program=binary(), log=log))
    wrapper.chmod(0o755)
    monkeypatch.setenv("HVDOCKER_BIN", str(wrapper))
    site.run("train", "code/train.py", check=None)
    monkeypatch.undo()
    print(log.read_text())
    assert "changed while it was being synced; no host" not in log.read_text()
    assert site.exec_in_worker(site.hosts[0], "cat", "/train/train.py")[1] == "good"
    if way == "redirected":
        assert log.read_text().count("train.log is not synced: the output of this command goes there") == 1
        assert site.exec_in_worker(site.hosts[0], "ls", "/train")[1] == "train.py\n"
    site.down("--discard")
