import stat
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import UnknownHostKey
from hvdocker.hosts import trust
from hvdocker.hosts.keys import make_pair


def key(entry: str = "[10.0.0.11]:2222") -> UnknownHostKey:
    return UnknownHostKey("a", entry, "ssh-ed25519", "AAAA", "SHA256:x")


def test_a_new_file_is_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / ".ssh" / "known_hosts"
    trust.remember(key(), path)
    assert path.read_text() == "[10.0.0.11]:2222 ssh-ed25519 AAAA\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_missing_newline_at_the_end_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_text("old ssh-ed25519 BBBB")
    trust.remember(key("one"), path)
    trust.remember(key("two"), path)
    assert path.read_text() == "old ssh-ed25519 BBBB\none ssh-ed25519 AAAA\ntwo ssh-ed25519 AAAA\n"


def test_what_is_remembered_is_believed(tmp_path: Path) -> None:
    pair = make_pair()
    kind, data = pair.public.split()
    path = tmp_path / "known_hosts"
    trust.remember(UnknownHostKey("a", "10.0.0.11", kind, data, ""), path)
    client = paramiko.SSHClient()
    trust.load_known_hosts(client, [tmp_path / "not there", path])
    assert client._system_host_keys.lookup("10.0.0.11")[kind].get_base64() == data


def test_an_unknown_key_is_refused_with_all_that_is_needed_to_accept_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(make_pair().private.reveal())
    offered = paramiko.Ed25519Key.from_private_key_file(str(path))
    with pytest.raises(UnknownHostKey) as caught:
        trust.RefuseUnknown("a").missing_host_key(paramiko.SSHClient(), "[10.0.0.11]:2222", offered)
    error = caught.value
    assert (error.host, error.entry, error.key_type) == ("a", "[10.0.0.11]:2222", "ssh-ed25519")
    assert error.key_base64 == offered.get_base64()
    assert error.fingerprint == offered.fingerprint
    assert error.exit_code == 4


def test_the_users_own_file() -> None:
    assert trust.user_known_hosts(Path("/home/me")) == Path("/home/me/.ssh/known_hosts")
