"""The cluster's own SSH, file by file, compared whole."""

from hvdocker import assets
from hvdocker.cluster.containers.files import (
    MASTER_SSH_FILES,
    PASSWD_COPY,
    container_folders,
    trust_files,
    worker_files,
)
from hvdocker.cluster.containers.ssh_files import (
    ClusterMember,
    authorized_keys,
    known_hosts,
    render_ssh_config,
    sshd_config,
)
from hvdocker.engine.file_spec import FileSpec, passwd_line, user_name, with_user

MEMBERS = (ClusterMember("a", "10.0.0.11", "hvd"), ClusterMember("b", "10.0.0.12", "root"))
KEYS = {"a": "ssh-ed25519 AAA", "b": "ssh-ed25519 BBB"}

SSH_CONFIG = """\
# Rendered by hvdocker for the containers of cluster lab; horovodrun's ssh reads it.
Host a 10.0.0.11
    HostName 10.0.0.11
    User hvd
Host b 10.0.0.12
    HostName 10.0.0.12
    User root
Host *
    Port 12345
    IdentityFile /run/hvdocker/ssh/id_ed25519
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile /run/hvdocker/ssh/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    UpdateHostKeys no
    VerifyHostKeyDNS no
    HostKeyAlgorithms ssh-ed25519
    PubkeyAcceptedAlgorithms ssh-ed25519
    KexAlgorithms curve25519-sha256
    Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com
    PreferredAuthentications publickey
    PasswordAuthentication no
    KbdInteractiveAuthentication no
    HostbasedAuthentication no
    BatchMode yes
    ConnectTimeout 10
    ServerAliveInterval 2
    ServerAliveCountMax 5
    ForwardAgent no
    ForwardX11 no
    ClearAllForwardings yes
    PermitLocalCommand no
    RequestTTY no
    LogLevel ERROR
"""

SSHD_CONFIG = """\
Port 12345
ListenAddress 10.0.0.11
HostKey /run/hvdocker/ssh/host_ed25519_key
HostKeyAlgorithms ssh-ed25519
AuthorizedKeysFile /run/hvdocker/ssh/authorized_keys
AllowUsers hvd
PermitRootLogin no
AuthenticationMethods publickey
PubkeyAuthentication yes
PubkeyAcceptedAlgorithms ssh-ed25519
PasswordAuthentication no
PermitEmptyPasswords no
KbdInteractiveAuthentication no
HostbasedAuthentication no
IgnoreRhosts yes
UsePAM no
PidFile none
StrictModes yes
DisableForwarding yes
AllowAgentForwarding no
AllowTcpForwarding no
AllowStreamLocalForwarding no
PermitOpen none
PermitListen none
GatewayPorts no
X11Forwarding no
PermitTunnel no
PermitTTY no
PermitUserEnvironment no
PermitUserRC no
Compression no
Banner none
PrintMotd no
UseDNS no
LoginGraceTime 30
MaxAuthTries 3
MaxStartups 200:30:400
MaxSessions 200
ClientAliveInterval 1
ClientAliveCountMax 10
LogLevel INFO
"""


def test_ssh_config() -> None:
    assert render_ssh_config(assets.ssh_config_template(), "lab", MEMBERS, 12345) == SSH_CONFIG


def test_sshd_config() -> None:
    assert sshd_config("10.0.0.11", 12345, 1000) == SSHD_CONFIG


def test_sshd_config_of_root_differs_in_two_lines() -> None:
    wanted = SSHD_CONFIG.replace("AllowUsers hvd", "AllowUsers root")
    wanted = wanted.replace("PermitRootLogin no", "PermitRootLogin prohibit-password")
    assert sshd_config("10.0.0.11", 12345, 0) == wanted


def test_known_hosts_pins_one_key_per_worker() -> None:
    assert known_hosts(MEMBERS, KEYS, 12345) == (
        "[10.0.0.11]:12345 ssh-ed25519 AAA\n[10.0.0.12]:12345 ssh-ed25519 BBB\n"
    )


def test_known_hosts_writes_no_port_for_22() -> None:
    assert known_hosts(MEMBERS[:1], KEYS, 22) == "10.0.0.11 ssh-ed25519 AAA\n"


def test_only_members_may_log_in_and_only_to_run_ranks() -> None:
    assert authorized_keys("ssh-ed25519 CLIENT", MEMBERS) == (
        'restrict,from="10.0.0.11,10.0.0.12" ssh-ed25519 CLIENT\n'
    )


def test_the_containers_user() -> None:
    assert (user_name(0), user_name(1000)) == ("root", "hvd")
    assert passwd_line(1000, 1001) == "hvd:x:1000:1001:hvdocker:/run/hvdocker/home:/bin/sh\n"


def test_passwd_gets_the_user_once() -> None:
    before = "root:x:0:0::/root:/bin/sh\nhvd:x:7:7::/:/bin/sh\ndaemon:x:1:1::/:/bin/false"
    assert with_user(before, 1000, 1001) == (
        "root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/:/bin/false\nhvd:x:1000:1001:hvdocker:/run/hvdocker/home:/bin/sh\n"
    )
    assert with_user("", 5, 6) == "hvd:x:5:6:hvdocker:/run/hvdocker/home:/bin/sh\n"
    assert with_user(before, 0, 0) == before


def test_a_workers_files_as_a_whole() -> None:
    trust = trust_files(assets.ssh_config_template(), "lab", MEMBERS, 12345, KEYS, "ssh-ed25519 CLIENT")
    assert trust == [
        FileSpec("ssh/config", SSH_CONFIG, 0o600),
        FileSpec("ssh/known_hosts", known_hosts(MEMBERS, KEYS, 12345), 0o600),
        FileSpec("ssh/authorized_keys", authorized_keys("ssh-ed25519 CLIENT", MEMBERS), 0o600),
    ]
    assert worker_files(trust, "CLIENT PRIVATE", "HOST PRIVATE", "10.0.0.11", 12345, 1000, None) == [
        FileSpec("", None, 0o700),
        FileSpec("ssh", None, 0o700),
        FileSpec("home", None, 0o700),
        *trust,
        FileSpec("ssh/id_ed25519", "CLIENT PRIVATE", 0o600),
        FileSpec("ssh/host_ed25519_key", "HOST PRIVATE", 0o600),
        FileSpec("ssh/sshd_config", SSHD_CONFIG, 0o600),
    ]


def test_a_master_takes_only_what_its_worker_has() -> None:
    trust = trust_files(assets.ssh_config_template(), "lab", MEMBERS, 12345, KEYS, "ssh-ed25519 CLIENT")
    files = worker_files(trust, "c", "h", "10.0.0.11", 12345, 1000, "root:x:0:0::/root:/bin/sh")
    assert {*MASTER_SSH_FILES, PASSWD_COPY} <= {file.path for file in files}
    assert [file.path for file in container_folders()] == ["", "ssh", "home"]
