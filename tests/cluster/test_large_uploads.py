"""Large uploads to real hosts go through a second login, with the program ssh, whatever the first login took."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.shell.command import command, shell
from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import SyncOptions, sync_all
from hvdocker.sync.tree import Tree
from hvdocker.sync.walk import read_tree
from hvdocker.transport.link import CommandResult, input_from_file
from hvdocker.transport.ssh.connect import Credentials
from hvdocker.transport.ssh.link import SshLink, open_ssh
from tests.cluster.cli import Cli
from tests.cluster.images import MIB, image_ids, images
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.ssh_agent import add_key, running_agent
from tests.cluster.sshd import FIRST_FILE, sshd_settings
from tests.cluster.test_logins import certify, make_key
from tests.cluster.test_one_connection import logins

SIZE = 200 * MIB
CODE = "/home/trainer/.hvdocker/lab/code"
SECRET = "open sesame"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "data.bin"
    path.write_bytes(os.urandom(MIB) * (SIZE // MIB))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


@pytest.fixture
def home(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose known_hosts has the lab's hosts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    shutil.copy(lab.state.known_hosts, tmp_path / ".ssh" / "known_hosts")
    return tmp_path


@pytest.fixture
def links() -> Iterator[Callable[..., SshLink]]:
    """`links(host, key=…, jump=…, passphrases=…)` opens a link, which is closed at the end."""
    with ExitStack() as stack:

        def connect(
            host: LabHost, key: Path | None = None, jump: str | None = None, passphrases: dict[str, str] | None = None
        ) -> SshLink:
            ssh = SshSettings(user="trainer", key=str(key) if key else None, jump=jump)
            link = open_ssh(Host(host.name, host.address, ssh=ssh), Credentials(passphrases))
            stack.callback(link.close)
            return link

        yield connect


def upload(link: SshLink, data: Path) -> CommandResult:
    return link.run(shell("cat > /dev/null; echo done"), input_from_file(data, lambda done: None, SIZE))


def assert_uses_ssh(host: LabHost, connect: Callable[[], SshLink], data: Path, logins_each: int = 1) -> None:
    """Each connection logs in `logins_each` times to the host: to it, and to jump hosts that are the same host."""
    before = logins(host)
    assert upload(connect(), data).text == "done\n"
    wanted = before + 2 * logins_each
    until(lambda: logins(host) == wanted or None, "the host tells of a second login", 10)


def test_with_a_key_file(lab: Lab, home: Path, links: Callable[..., SshLink], data: Path) -> None:
    (host,) = lab.fresh(1)
    assert_uses_ssh(host, lambda: links(host, lab.state.key), data)


def test_with_a_key_whose_passphrase_was_given(lab: Lab, home: Path, links: Callable[..., SshLink], data: Path) -> None:
    (host,) = lab.fresh(1)
    locked = home / "locked"
    shutil.copy(lab.state.key, locked)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", SECRET, "-f", locked], check=True)
    assert_uses_ssh(host, lambda: links(host, locked, passphrases={str(locked): SECRET}), data)


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
@pytest.mark.parametrize("is_in_agent", [False, True])
def test_with_a_certificate(
    lab: Lab,
    home: Path,
    links: Callable[..., SshLink],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    is_in_agent: bool,
) -> None:
    (host,) = lab.fresh(1)
    authority, key = make_key(home / "ca"), make_key(home / "id", kind)
    host.exec(["sh", "-c", 'echo "$1" > /etc/ssh/users.pub', "sh", authority.with_suffix(".pub").read_text()])
    certify(authority, key)
    with sshd_settings(host, "TrustedUserCAKeys /etc/ssh/users.pub"), running_agent(home) as env:
        if is_in_agent:
            add_key(env, key)
            key.unlink()
            monkeypatch.setenv("SSH_AUTH_SOCK", env["SSH_AUTH_SOCK"])
        assert_uses_ssh(host, lambda: links(host, None if is_in_agent else key), data)


def test_with_an_agent_through_a_jump_host(
    lab: Lab, home: Path, links: Callable[..., SshLink], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h1, h2 = lab.fresh(2)
    h2.exec(f"iptables -w -A INPUT -p tcp --dport 22 ! -s {h1.address} -j DROP")
    try:
        with running_agent(home) as env:
            add_key(env, lab.state.key)
            monkeypatch.setenv("SSH_AUTH_SOCK", env["SSH_AUTH_SOCK"])
            assert_uses_ssh(h2, lambda: links(h2, jump=f"trainer@{h1.address}"), data)
    finally:
        h2.repair()


def test_through_a_proxy_command(lab: Lab, home: Path, links: Callable[..., SshLink], data: Path) -> None:
    (host,) = lab.fresh(1)
    hop = (
        f"ssh -F none -i {lab.state.key} -o UserKnownHostsFile={home}/.ssh/known_hosts -W %h:%p trainer@{host.address}"
    )
    (home / ".ssh" / "config").write_text(f"Host {host.address}\n  ProxyCommand {hop}\n")
    before = logins(host)
    assert upload(links(host, lab.state.key), data).text == "done\n"
    until(lambda: logins(host) == before + 4 or None, "the host tells of two logins through two proxies", 10)


def test_a_host_key_that_has_changed_is_not_accepted(
    lab: Lab, home: Path, links: Callable[..., SshLink], data: Path
) -> None:
    """The open connection, to the host with the known key, carries the data instead."""
    (host,) = lab.fresh(1)
    link = links(host, lab.state.key)
    other = "/etc/ssh/other_key"
    host.exec(f"rm -f {other}*; ssh-keygen -q -t ed25519 -N '' -f {other}")
    # Sessions go on while sshd reads its configuration again.
    read_again = "kill -HUP $(cat /run/sshd.pid)"
    try:
        host.exec(f"echo HostKey {other} > {FIRST_FILE}; {read_again}")
        until(lambda: changed_key(lambda: links(host, lab.state.key)), "the host shows its other key", 10)
        assert upload(link, data).text == "done\n"
        assert changed_key(lambda: links(host, lab.state.key))
    finally:
        host.exec(f"rm -f {FIRST_FILE}; {read_again}")
    assert link.run(command("true")).code == 0


def changed_key(connect: Callable[[], SshLink]) -> bool | None:
    try:
        connect()
    except HostUnreachable as error:
        return True if "host key" in error.what else None
    return None


def synced(link: SshLink, folder: Path, how: SyncOptions | None = None) -> None:
    sync_all({link.name: SyncTarget(link, CODE)}, settled_tree(folder), how).or_raise("sync failed")


def settled_tree(folder: Path) -> Tree:
    """The tree, once its files are old enough to be recognised as unchanged: until then they are sent as a stream."""

    def look() -> Tree | None:
        tree = read_tree(folder, HashCache(folder.parent / "hashes"))
        return tree if all(entry.stat for entry in tree.entries.values()) else None

    return until(look, "the files are settled", 30)


def test_a_large_file_of_the_code_is_synced(
    lab: Lab, home: Path, links: Callable[..., SshLink], data: Path, tmp_path: Path
) -> None:
    (host,) = lab.fresh(1)
    before, shown = logins(host), list[tuple[int, int]]()
    link, folder = links(host, lab.state.key), data.parent
    (folder / "train.py").write_text("print()")
    synced(link, folder, SyncOptions(progress=lambda name, done, total: shown.append((done, total))))
    wanted = subprocess.run(["sha256sum", "data.bin"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert host.exec(f"cd {CODE} && sha256sum data.bin && stat -c '%Y %a' data.bin && ls") == (
        f"{wanted}1600000000 644\ndata.bin\ntrain.py\n"
    )
    assert shown == sorted(shown) and shown[-1] == (SIZE + 7, SIZE + 7)
    assert len(shown) > 3
    until(lambda: logins(host) == before + 2 or None, "the host tells of a second login", 10)
    shown.clear()
    synced(link, folder)
    assert not shown, "nothing has changed"


def test_a_sync_whose_connection_breaks_leaves_the_old_code_and_is_repeated(
    lab: Lab, home: Path, links: Callable[..., SshLink], data: Path
) -> None:
    (host,) = lab.fresh(1)
    folder = data.parent

    def cut(name: str, done: int, total: int) -> None:
        if done > total // 2:
            host.exec("pkill -KILL -u trainer sshd; true")

    with pytest.raises(HostUnreachable, match="the connection was lost"):
        synced(links(host, lab.state.key), folder, SyncOptions(progress=cut))
    assert host.attempt(f"ls {CODE}/data.bin")[0] != 0
    synced(links(host, lab.state.key), folder)
    assert host.exec(f"stat -c %s {CODE}/data.bin") == f"{SIZE}\n"


def test_ctrl_c_ends_ssh(lab: Lab, home: Path, links: Callable[..., SshLink], data: Path) -> None:
    (host,) = lab.fresh(1)

    def interrupt(done: int) -> None:
        raise HvdockerError("interrupted")

    before = processes_of_ssh()
    with pytest.raises(HvdockerError, match="interrupted"):
        links(host, lab.state.key).run(shell("sleep 60"), input_from_file(data, interrupt, SIZE))
    assert not processes_of_ssh() - before
    until(lambda: host.attempt("pgrep -u trainer -x cat")[0] != 0 or None, "the command ends on the host", 10)


def processes_of_ssh() -> set[str]:
    """The children of this process that are ssh, or the shell that ends with it. A ProxyCommand of an earlier test may
    be among them, which has ended and was not waited for."""
    words = ["pgrep", "-P", str(os.getpid()), "-x", "ssh|sh"]
    return set(subprocess.run(words, capture_output=True, text=True).stdout.split())


def test_an_image_goes_through_ssh(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts)
    before = {host.name: logins(host) for host in hosts}
    with images(lab) as shop:
        wanted = shop.build("large:test", 120 * MIB)
        site.run("image", "push", "large:test", "-i", site.inventory)
        assert image_ids(hosts, "large:test") == {host.name: wanted for host in hosts}
    for host in hosts:
        until(lambda h=host: logins(h) == before[h.name] + 2 or None, f"{host.name} tells of two logins", 10)
