import stat
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import ExitCode, UnknownHostKey, UsageProblem
from hvdocker.hosts import trust
from hvdocker.hosts.keys import make_pair


def key(entry: str = "[10.0.0.11]:2222") -> UnknownHostKey:
    return UnknownHostKey("a", entry, "ssh-ed25519", "AAAA", "SHA256:x", "/k")


def some_key(folder: Path) -> paramiko.PKey:
    path = folder / "key"
    path.write_text(make_pair().private.reveal())
    return paramiko.Ed25519Key.from_private_key_file(str(path))


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
    trust.remember(UnknownHostKey("a", "10.0.0.11", kind, data, "", str(path)), path)
    client = paramiko.SSHClient()
    trust.load_known_hosts(client, [tmp_path / "not there", path])
    assert client._system_host_keys.lookup("10.0.0.11")[kind].get_base64() == data


def test_an_unknown_key_is_refused_with_all_that_is_needed_to_accept_it(tmp_path: Path) -> None:
    offered = some_key(tmp_path)
    with pytest.raises(UnknownHostKey) as caught:
        trust.RefuseUnknown("a", tmp_path / "known").missing_host_key(
            paramiko.SSHClient(), "[10.0.0.11]:2222", offered
        )
    error = caught.value
    assert (error.host, error.entry, error.key_type) == ("a", "[10.0.0.11]:2222", "ssh-ed25519")
    assert error.key_base64 == offered.get_base64()
    assert error.fingerprint == offered.fingerprint
    assert error.known_hosts == str(tmp_path / "known")
    assert error.exit_code == 4


def test_the_users_own_file() -> None:
    assert trust.user_known_hosts(Path("/home/me")) == Path("/home/me/.ssh/known_hosts")


def test_a_key_accepted_just_now_is_not_asked_about_again(tmp_path: Path) -> None:
    offered, other = some_key(tmp_path), some_key(tmp_path)
    client, null = paramiko.SSHClient(), Path("/dev/null")
    policy = trust.RefuseUnknown("a", null, {("gpu-a", offered.get_base64())})
    policy.missing_host_key(client, "gpu-a", offered)
    for entry, key in (("gpu-b", offered), ("gpu-a", other)):
        with pytest.raises(UnknownHostKey):
            policy.missing_host_key(client, entry, key)


def test_who_wants_nothing_remembered_gets_no_error() -> None:
    trust.remember(key(), Path("/dev/null"))
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("line", [b"gpu-a ssh-ed25519 AAA", b"caf\xe9 ssh-rsa AAAA"])
def test_a_broken_line_in_known_hosts_is_a_usage_problem(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "known_hosts"
    path.write_bytes(line + b"\n")
    with pytest.raises(UsageProblem, match="has a line that is no host key") as caught:
        trust.load_known_hosts(paramiko.SSHClient(), [path])
    assert str(path) in caught.value.what and caught.value.exit_code == ExitCode.USAGE
