"""Attacks on a cluster that is up: every one is made for real, denied, and for the reason that was meant."""

import json
import socket
from collections.abc import Iterator

import paramiko
import pytest

from tests.cluster import raw_ssh
from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SSH_FOLDER, LabCluster
from tests.cluster.raw_ssh import (
    cluster_key,
    connected_to_worker,
    global_request,
    request_channel,
    session_request,
    ssh_string,
    ssh_uint32,
)

USER = "hvd"


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    site = LabCluster.write(lab, desk, lab.fresh(2))
    site.up()
    yield site
    site.down()
    assert cluster_leftovers(site.hosts, site.cluster) == {}


@pytest.fixture
def inside(site: LabCluster) -> Iterator[paramiko.Transport]:
    """Logged into the worker on h2 from h1, with the cluster's key, as a rank may."""
    h1, h2 = site.hosts
    with connected_to_worker(site, h2, via=h1) as transport:
        transport.auth_publickey(USER, cluster_key(site, h1))
        yield transport
        assert raw_ssh.run_command(transport, "echo still $USER") == f"still {USER}\n"


def denied(transport: paramiko.Transport, user: str, key: paramiko.PKey) -> None:
    with pytest.raises(paramiko.AuthenticationException):
        transport.auth_publickey(user, key)
    assert not transport.is_authenticated()


def log_says(site: LabCluster, host: LabHost, words: str) -> None:
    until(lambda: True if words in raw_ssh.sshd_log(site, host) else None, f"sshd says {words!r}", 10)


# Logging in


def test_without_a_key(site: LabCluster) -> None:
    h1, h2 = site.hosts
    with (
        connected_to_worker(site, h2, via=h1) as transport,
        pytest.raises(paramiko.BadAuthenticationType) as caught,
    ):
        transport.auth_none(USER)
    assert caught.value.allowed_types == ["publickey"]


def test_with_a_password_or_an_answer_to_a_question(site: LabCluster) -> None:
    h1, h2 = site.hosts
    for attempt in (
        lambda transport: transport.auth_password(USER, "hvd", fallback=False),
        lambda transport: transport.auth_interactive(USER, lambda *_: ["hvd"]),
    ):
        with (
            connected_to_worker(site, h2, via=h1) as transport,
            pytest.raises(paramiko.BadAuthenticationType) as caught,
        ):
            attempt(transport)
        assert caught.value.allowed_types == ["publickey"]


def test_with_another_key(site: LabCluster) -> None:
    h1, h2 = site.hosts
    keys = [
        paramiko.Ed25519Key.from_private_key_file(str(h1.key())),
        paramiko.RSAKey.generate(2048),
        paramiko.ECDSAKey.generate(),
    ]
    for key in keys:
        with connected_to_worker(site, h2, via=h1) as transport:
            denied(transport, USER, key)


def test_with_another_clusters_key_and_with_any_after_down(lab: Lab, site: LabCluster) -> None:
    h1, h2 = site.hosts
    other = LabCluster.write(lab, site.cli, [h1, h2], cluster="other")
    other.up()
    keys, port = {name: cluster_key(one, h1) for name, one in (("lab", site), ("other", other))}, 0
    try:
        for target, name in ((site, "other"), (other, "lab")):
            with connected_to_worker(target, h2, via=h1) as transport:
                denied(transport, USER, keys[name])
        with connected_to_worker(other, h2, via=h1) as transport:
            transport.auth_publickey(USER, keys["other"])
        port = raw_ssh.worker_port(other, h2)
        assert port != raw_ssh.worker_port(site, h2)
    finally:
        other.down()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((h2.address, port), 10)
    with connected_to_worker(site, h2, via=h1) as transport:
        denied(transport, USER, keys["other"])


@pytest.mark.parametrize("user", ["root", "trainer", "nobody", "sshd", "no-such-user", ""])
def test_as_another_user(site: LabCluster, user: str) -> None:
    h1, h2 = site.hosts
    with connected_to_worker(site, h2, via=h1) as transport:
        denied(transport, user, cluster_key(site, h1))
    log_says(
        site,
        h2,
        f"nvalid user {user}" if user in ("trainer", "no-such-user", "") else "not listed in AllowUsers",
    )


def test_from_an_address_outside_the_cluster(site: LabCluster) -> None:
    _, h2 = site.hosts
    with connected_to_worker(site, h2, via=None) as transport:
        denied(transport, USER, cluster_key(site, h2))
    log_says(site, h2, "with correct key but not from a permitted host")


def test_at_another_address(site: LabCluster) -> None:
    """The worker shares its host's network, and listens on the training address alone."""
    h1, _ = site.hosts
    port = raw_ssh.worker_port(site, h1)
    listening = h1.exec(f"ss -Hltn 'sport = :{port}'").split("\n")[:-1]
    assert [line.split()[3] for line in listening] == [f"{h1.address}:{port}"]


# Asking for more than a command


GLOBAL = {
    "remote port": ("tcpip-forward", ssh_string("0.0.0.0"), ssh_uint32(0)),
    "remote socket": ("streamlocal-forward@openssh.com", ssh_string("/tmp/attack.sock")),
}
IN_SESSION = {
    "agent": ("auth-agent-req@openssh.com",),
    "X11": ("x11-req", b"\0", ssh_string("MIT-MAGIC-COOKIE-1"), ssh_string("00" * 16), ssh_uint32(0)),
    "TTY": (
        "pty-req",
        ssh_string("xterm"),
        ssh_uint32(80),
        ssh_uint32(24),
        ssh_uint32(0),
        ssh_uint32(0),
        ssh_string(""),
    ),
    "SFTP": ("subsystem", ssh_string("sftp")),
    "environment": ("env", ssh_string("LD_PRELOAD"), ssh_string("/tmp/evil.so")),
    "locale": ("env", ssh_string("LANG"), ssh_string("evil")),
}
# With the reason that sshd writes into its log, or tells the client.
CHANNELS = {
    "local port": (
        ("direct-tcpip", ssh_string("127.0.0.1"), ssh_uint32(22), ssh_string("127.0.0.1"), ssh_uint32(1)),
        "refused local port forward: originator 127.0.0.1 port 1, target 127.0.0.1 port 22",
    ),
    "local socket": (
        ("direct-streamlocal@openssh.com", ssh_string("/proc/net/unix"), ssh_string(""), ssh_uint32(0)),
        "refused streamlocal port forward: originator  port 0, target /proc/net/unix",
    ),
}
TUNNELS = {"layer 2": 2, "layer 3": 1}


@pytest.mark.parametrize("request_", GLOBAL.values(), ids=GLOBAL)
def test_no_port_of_a_worker_is_opened(inside: paramiko.Transport, request_: tuple[str, bytes]) -> None:
    assert global_request(inside, *request_) is False


@pytest.mark.parametrize("request_", IN_SESSION.values(), ids=IN_SESSION)
def test_a_session_gets_no(inside: paramiko.Transport, request_: tuple[str, bytes]) -> None:
    assert session_request(inside, *request_) is False


def test_a_session_gets_a_command(inside: paramiko.Transport) -> None:
    """The same way of asking, for the one thing that is granted."""
    assert session_request(inside, "exec", ssh_string("true")) is True


@pytest.mark.parametrize(("request_", "reason"), CHANNELS.values(), ids=CHANNELS)
def test_a_worker_is_no_way_to_elsewhere(
    site: LabCluster, inside: paramiko.Transport, request_: tuple[str, bytes], reason: str
) -> None:
    assert request_channel(inside, *request_) != "opened"
    log_says(site, site.hosts[1], reason)


@pytest.mark.parametrize("layer", TUNNELS.values(), ids=TUNNELS)
def test_a_worker_is_no_end_of_a_tunnel(
    inside: paramiko.Transport, caplog: pytest.LogCaptureFixture, layer: int
) -> None:
    with caplog.at_level("DEBUG", "paramiko"):
        assert request_channel(inside, "tun@openssh.com", ssh_uint32(layer), ssh_uint32(0x7FFFFFFF)) != "opened"
    assert "Server has rejected tunnel device forwarding" in caplog.text


# What stands open


EXPECTED = {
    "addressfamily": "any",
    "allowagentforwarding": "no",
    "allowstreamlocalforwarding": "no",
    "allowtcpforwarding": "no",
    "allowusers": USER,
    "authenticationmethods": "publickey",
    "authorizedkeyscommand": "none",
    "authorizedkeysfile": f"{SSH_FOLDER}/authorized_keys",
    "authorizedprincipalscommand": "none",
    "authorizedprincipalsfile": "none",
    "banner": "none",
    "disableforwarding": "yes",
    "exposeauthinfo": "no",
    "forcecommand": "none",
    "gatewayports": "no",
    "gssapiauthentication": "no",
    "hostbasedauthentication": "no",
    "hostkeyalgorithms": "ssh-ed25519",
    "kbdinteractiveauthentication": "no",
    "kerberosauthentication": "no",
    "passwordauthentication": "no",
    "permitemptypasswords": "no",
    "permitlisten": "none",
    "permitopen": "none",
    "permitrootlogin": "no",
    "permittty": "no",
    "permittunnel": "no",
    "permituserenvironment": "no",
    "permituserrc": "no",
    "pubkeyacceptedalgorithms": "ssh-ed25519",
    "strictmodes": "yes",
    "trustedusercakeys": "none",
    "usepam": "no",
    "x11forwarding": "no",
}


def test_the_settings_that_sshd_itself_says_it_runs_with(site: LabCluster) -> None:
    for host in site.hosts:
        code, out, err = site.exec_in_worker(host, "/usr/sbin/sshd", "-T", "-f", f"{SSH_FOLDER}/sshd_config")
        assert code == 0, err
        lines = [line.partition(" ") for line in out.splitlines()]
        settings = {name: value for name, _, value in lines}
        assert {name: settings.get(name, "none") for name in EXPECTED} == EXPECTED
        assert not {"subsystem", "acceptenv"} & set(settings)
        port = raw_ssh.worker_port(site, host)
        assert [value for name, _, value in lines if name == "listenaddress"] == [f"{host.address}:{port}"]
        assert [value for name, _, value in lines if name == "hostkey"] == [f"{SSH_FOLDER}/host_ed25519_key"]


def test_a_login_has_no_privileges_and_sees_no_engine(inside: paramiko.Transport) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in raw_ssh.run_command(inside, "cat /proc/self/status").splitlines()
        if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    assert {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {
        "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapBnd": 0, "CapAmb": 0
    }  # fmt: skip
    assert status["Uid"].split() == ["1000"] * 4
    assert raw_ssh.run_command(
        inside, "find / -xdev -name 'docker*.sock' 2>/dev/null; ls /var/run/docker.sock 2>&1"
    ).endswith("No such file or directory\n")


def test_roots_workers_have_what_sshd_needs_and_no_more(lab: Lab, site: LabCluster) -> None:
    """CHROOT, SETUID, SETGID and DAC_OVERRIDE, as the bits of a capability set."""
    other = LabCluster.write(lab, site.cli, site.hosts[:1], cluster="roots", user="root")
    other.up()
    try:
        (host,) = other.hosts
        with connected_to_worker(other, host, via=host) as transport:
            transport.auth_publickey("root", cluster_key(other, host))
            out = raw_ssh.run_command(
                transport, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status; ls /var/run/docker.sock 2>&1"
            )
        words = dict(line.split(":\t") for line in out.splitlines()[:-1])
        assert words["NoNewPrivs"] == "1"
        assert int(words["CapEff"], 16) == int(words["CapBnd"], 16) == 1 << 1 | 1 << 6 | 1 << 7 | 1 << 18
        assert "No such file or directory" in out
        code, out, err = other.exec_in_worker(host, "/usr/sbin/sshd", "-T", "-f", f"{SSH_FOLDER}/sshd_config")
        assert code == 0, err
        wanted = {**EXPECTED, "allowusers": "root", "permitrootlogin": "without-password"}
        settings = dict(line.split(" ", 1) for line in out.splitlines() if " " in line)
        assert {name: settings.get(name, "none") for name in EXPECTED} == wanted
        with connected_to_worker(other, host, via=host) as transport:
            denied(transport, "root", cluster_key(site, host))
    finally:
        other.down()


def test_no_container_of_ours_is_given_more_than_the_recipe(site: LabCluster) -> None:
    for host in site.hosts:
        seen = site.inspect_worker(host)
        config = seen["HostConfig"]
        assert config["SecurityOpt"] == ["no-new-privileges"] and config["CapDrop"] == ["ALL"]
        assert not config["CapAdd"] and not config["Privileged"] and not config["Devices"]
        assert (config["PidMode"], config["UTSMode"], config["UsernsMode"]) == ("", "", "")
        assert "docker.sock" not in json.dumps(config["Binds"])
        assert [bind.split(":")[1] for bind in config["Binds"]] == ["/train", "/run/hvdocker/jobs"]
