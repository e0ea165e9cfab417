import base64
import stat
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import HostUnreachable, UnknownHostKey
from hvdocker.transport.ssh import host_keys
from hvdocker.transport.ssh.key_pairs import make_pair


def key(entry: str = "[10.0.0.11]:2222") -> UnknownHostKey:
    return UnknownHostKey("a", entry, "ssh-ed25519", "AAAA", "SHA256:x", "/k")


def some_key(folder: Path) -> paramiko.PKey:
    path = folder / "key"
    path.write_text(make_pair().private.reveal())
    return paramiko.Ed25519Key.from_private_key_file(str(path))


def test_a_new_file_is_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / ".ssh" / "known_hosts"
    host_keys.append_known_host(key(), path)
    assert path.read_text() == "[10.0.0.11]:2222 ssh-ed25519 AAAA\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_missing_newline_at_the_end_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_text("old ssh-ed25519 BBBB")
    host_keys.append_known_host(key("one"), path)
    host_keys.append_known_host(key("two"), path)
    assert path.read_text() == "old ssh-ed25519 BBBB\none ssh-ed25519 AAAA\ntwo ssh-ed25519 AAAA\n"


def judge(
    lines: list[host_keys.KnownHostsLine],
    *accepted: host_keys.AcceptedKey,
    known: Path = Path("/k"),
    entry: str = "gpu-a",
) -> host_keys.HostKeyPolicy:
    return host_keys.HostKeyPolicy("a", entry, known, lines, accepted)


def written(path: Path, *lines: str) -> list[host_keys.KnownHostsLine]:
    path.write_text("".join(f"{line}\n" for line in lines))
    return host_keys.KnownHosts().about("gpu-a", [path])


def test_what_is_remembered_is_believed(tmp_path: Path) -> None:
    shown, path = some_key(tmp_path), tmp_path / "known_hosts"
    entry = host_keys.entry_for("10.0.0.11", 2222)
    host_keys.append_known_host(UnknownHostKey("a", entry, shown.get_name(), shown.get_base64(), "", str(path)), path)
    lines = host_keys.KnownHosts().about(entry, [tmp_path / "not there", path])
    judge(lines).missing_host_key(paramiko.SSHClient(), entry, shown)
    assert judge(lines).key_types == {"ssh-ed25519"}
    assert host_keys.KnownHosts().about("10.0.0.11", [path]) == []


@pytest.mark.parametrize(
    ("host", "port", "entry"),
    [
        ("gpu-a", 22, "gpu-a"),
        ("gpu-a", 2222, "[gpu-a]:2222"),
        ("::1", 22, "::1"),
        ("::1", 2222, "[::1]:2222"),
    ],
)
def test_how_known_hosts_names_a_host(host: str, port: int, entry: str) -> None:
    assert host_keys.entry_for(host, port) == entry


def test_an_unknown_key_is_refused_with_all_that_is_needed_to_accept_it(tmp_path: Path) -> None:
    offered = some_key(tmp_path)
    with pytest.raises(UnknownHostKey) as caught:
        policy = judge([], known=tmp_path / "known", entry="[10.0.0.11]:2222")
        policy.missing_host_key(paramiko.SSHClient(), "elsewhere", offered)
    error = caught.value
    assert (error.host, error.entry, error.key_type) == ("a", "[10.0.0.11]:2222", "ssh-ed25519")
    assert error.key_base64 == offered.get_base64()
    assert error.fingerprint == offered.fingerprint
    assert error.known_hosts == str(tmp_path / "known")
    assert error.exit_code == 4 and "[10.0.0.11]:2222" in error.lines[0]


@pytest.mark.parametrize("names", ["gpu-a", "x,gpu-a", "gpu-?", "*,!other", "GPU-*", "{hash}"])
def test_a_line_names_a_host_in_many_ways(tmp_path: Path, names: str) -> None:
    shown = some_key(tmp_path)
    names = names.format(hash=paramiko.HostKeys.hash_host("gpu-a"))
    lines = written(tmp_path / "known", f"{names} ssh-ed25519 {shown.get_base64()} a comment")
    judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", shown)
    assert len(lines) == 1


@pytest.mark.parametrize("names", ["gpu-b", "*,!gpu-a", "gpu", "[gpu-a]:2222", "|1|c2FsdA==|aGFzaA==", "|1|x", "|1|é|"])
def test_a_line_about_others_is_left_alone(tmp_path: Path, names: str) -> None:
    assert written(tmp_path / "known", f"{names} ssh-ed25519 AAAA", "# gpu-a", "", "gpu-a") == []


def test_brackets_of_a_port_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("[*.example]:2222 ssh-ed25519 AAAA\n")
    known = host_keys.KnownHosts()
    assert known.about("[gpu.example]:2222", [tmp_path / "known"])
    assert not known.about("gpu.example", [tmp_path / "known"])


def test_a_host_may_have_several_keys_and_shows_one_of_them(tmp_path: Path) -> None:
    first, second, third = (some_key(tmp_path) for _ in range(3))
    both = [f"gpu-a ssh-ed25519 {key.get_base64()}" for key in (first, second)]
    lines = written(tmp_path / "known", *both)
    for shown in (first, second):
        judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", shown)
    with pytest.raises(paramiko.BadHostKeyException):
        judge(lines, ("gpu-a", third.get_base64())).missing_host_key(paramiko.SSHClient(), "gpu-a", third)


def test_a_revoked_key_is_refused_even_where_another_line_believes_it(tmp_path: Path) -> None:
    shown = some_key(tmp_path)
    text = f"gpu-a ssh-ed25519 {shown.get_base64()}"
    lines = written(tmp_path / "known", text, f"@revoked * {text.split(' ', 1)[1]}")
    with pytest.raises(HostUnreachable, match="the host key is revoked") as caught:
        judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", shown)
    assert caught.value.exit_code == 4 and caught.value.fix


def test_a_certificate_authority_is_no_key_of_the_host(tmp_path: Path) -> None:
    authority = some_key(tmp_path)
    lines = written(tmp_path / "known", f"@cert-authority *-a ssh-ed25519 {authority.get_base64()}")
    with pytest.raises(UnknownHostKey) as caught:
        judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", authority)
    assert "host certificates" in " ".join(caught.value.lines)


def test_the_users_own_file() -> None:
    assert host_keys.user_known_hosts(Path("/home/me")) == Path("/home/me/.ssh/known_hosts")


def test_a_key_accepted_just_now_is_not_asked_about_again(tmp_path: Path) -> None:
    offered, other = some_key(tmp_path), some_key(tmp_path)
    client, null = paramiko.SSHClient(), Path("/dev/null")
    accepted = ("gpu-a", offered.get_base64())
    judge([], accepted, known=null).missing_host_key(client, "gpu-a", offered)
    for entry, key in (("gpu-b", offered), ("gpu-a", other)):
        with pytest.raises(UnknownHostKey):
            judge([], accepted, known=null, entry=entry).missing_host_key(client, entry, key)


def test_who_wants_nothing_remembered_gets_no_error() -> None:
    host_keys.append_known_host(key(), Path("/dev/null"))
    assert Path("/dev/null").is_char_device()


ODD_LINES = {
    "a comment in Latin-1": b"other.example ssh-ed25519 %KEY b\xfcro",
    "a name in Latin-1": b"b\xfcro.example ssh-ed25519 %KEY",
    "SSH1": b"other.example 1024 35 1394061893",
    "cut off": b"other.example ssh-ed25519 AAA",
    "of another type": b"other.example ssh-rsa %KEY",
    "empty": b"other.example",
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_an_odd_line_about_another_host_stops_nobody(tmp_path: Path, name: str) -> None:
    shown, path = some_key(tmp_path), tmp_path / "known_hosts"
    odd = ODD_LINES[name].replace(b"%KEY", shown.get_base64().encode())
    path.write_bytes(odd + f"\ngpu-a ssh-ed25519 {shown.get_base64()}\n".encode())
    lines = host_keys.KnownHosts().about("gpu-a", [path])
    judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", shown)


@pytest.mark.parametrize("odd", ["gpu-a ssh-ed25519 AAA", "@revoked gpu-a ssh-ed25519 AAA", "gpu-a 1024 35 1394061893"])
def test_an_odd_line_about_the_host_itself_is_named(tmp_path: Path, odd: str) -> None:
    lines = written(tmp_path / "known", "# mine", odd)
    with pytest.raises(UnknownHostKey) as caught:
        judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", some_key(tmp_path))
    assert caught.value.lines == (f"line 2 of {tmp_path}/known is about gpu-a, but is no host key",)


def test_a_known_key_of_a_kind_that_paramiko_lacks_is_a_changed_key(tmp_path: Path) -> None:
    body = base64.b64encode(b"\0\0\0\x07ssh-dssrest").decode()
    with pytest.raises(paramiko.BadHostKeyException, match=f"expected '{body}'"):
        lines = written(tmp_path / "known", f"gpu-a ssh-dss {body}")
        judge(lines).missing_host_key(paramiko.SSHClient(), "gpu-a", some_key(tmp_path))
