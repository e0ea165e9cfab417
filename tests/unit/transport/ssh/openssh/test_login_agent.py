"""The agent for a login: what OpenSSH's own programs see of it, what it signs and what it refuses."""

import os
import subprocess
from pathlib import Path

import paramiko
import pytest
from paramiko.message import Message

from hvdocker.transport.ssh.agent import Agent
from hvdocker.transport.ssh.auth import Login, OpenedKeys
from hvdocker.transport.ssh.certificates import certificate_for, with_certificate
from hvdocker.transport.ssh.openssh.login_agent import LoginAgent
from tests.cluster.ssh_agent import add_key, running_agent

FAILURE = b"\x05"


def make_key(path: Path, kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", path], check=True)
    return path


def opened(path: Path) -> paramiko.PKey:
    return OpenedKeys({}).key(str(path))


def public(key: paramiko.PKey) -> paramiko.PKey:
    return type(key)(data=key.asbytes())  # type: ignore[call-arg]  # PKey itself takes none


def login_data(key: paramiko.PKey) -> bytes:
    """What ssh asks an agent to sign: the session, and the request to log in."""
    data = Message()
    data.add_string(b"session")
    data.add_byte(b"\x32")
    data.add_string("kim")
    return data.asbytes()


def sign_request(key: paramiko.PKey, data: bytes, flags: int = 0) -> bytes:
    request = Message()
    request.add_byte(b"\x0d")
    request.add_string(key.asbytes())
    request.add_string(data)
    request.add_int(flags)
    return request.asbytes()


def listed(socket: Path) -> str:
    environ = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
    return subprocess.run(["ssh-add", "-L"], env=environ, capture_output=True, text=True).stdout


def test_ssh_add_lists_the_keys_until_the_login_is_over(tmp_path: Path) -> None:
    keys = [make_key(tmp_path / kind, kind) for kind in ("ed25519", "ecdsa", "rsa")]
    with LoginAgent(str(tmp_path / "agent"), [opened(path) for path in keys]):
        lines = listed(tmp_path / "agent").splitlines()
    publics = [path.with_suffix(".pub").read_text().split()[1] for path in keys]
    assert [line.split()[1] for line in lines] == publics
    assert listed(tmp_path / "agent") == ""


@pytest.mark.parametrize(("kind", "flags"), [("ed25519", 0), ("ecdsa", 0), ("rsa", 4), ("rsa", 2)])
def test_a_login_is_signed(tmp_path: Path, kind: str, flags: int) -> None:
    key = opened(make_key(tmp_path / "id", kind))
    with LoginAgent(str(tmp_path / "agent"), [key]) as agent:
        answer = Message(agent.answer(sign_request(key, login_data(key), flags)))
    assert answer.get_byte() == b"\x0e"
    signature = Message(answer.get_binary())
    if kind == "rsa":
        assert signature.get_text() == f"rsa-sha2-{512 if flags == 4 else 256}"
        signature.rewind()
    assert public(key).verify_ssh_sig(login_data(key), signature)


def test_nothing_but_a_login_is_signed_and_no_other_request_served(tmp_path: Path) -> None:
    key = opened(make_key(tmp_path / "id"))
    other = opened(make_key(tmp_path / "other"))
    with LoginAgent(str(tmp_path / "agent"), [key]) as agent:
        assert agent.answer(sign_request(key, b"SSHSIG and a file")) == FAILURE
        assert agent.answer(sign_request(other, login_data(other))) == FAILURE
        assert agent.answer(b"\x11 add a key") == FAILURE
        assert agent.answer(b"") == FAILURE


def test_a_certificate_is_offered_with_its_key(tmp_path: Path) -> None:
    path, authority = make_key(tmp_path / "id"), make_key(tmp_path / "ca")
    subprocess.run(["ssh-keygen", "-q", "-s", authority, "-I", "test", "-n", "kim", f"{path}.pub"], check=True)
    certificate = certificate_for(f"{path}-cert.pub", opened(path))
    assert certificate
    with LoginAgent(str(tmp_path / "agent"), [with_certificate(opened(path), certificate)]):
        assert listed(tmp_path / "agent").startswith("ssh-ed25519-cert-v01@openssh.com ")


class AnyServer:
    """Accepts the first key."""

    def is_active(self) -> bool:
        return True

    def auth_publickey(self, user: str, key: paramiko.PKey) -> list[str]:
        return []


def test_a_key_of_the_users_agent_signs_once_more(tmp_path: Path) -> None:
    with running_agent(tmp_path) as env:
        path = make_key(tmp_path / "id", "rsa")
        add_key(env, path)
        login = Login("kim", (), OpenedKeys({}), agent_socket=env["SSH_AUTH_SOCK"])
        login.authenticate(AnyServer())  # type: ignore[arg-type]  # a stand-in
        with login.signing_key() as key:
            assert key
            with LoginAgent(str(tmp_path / "mine"), [key]) as agent:
                answer = Message(agent.answer(sign_request(key, login_data(key), 4)))
        assert answer.get_byte() == b"\x0e"
        assert public(opened(path)).verify_ssh_sig(login_data(key), Message(answer.get_binary()))
    assert not Agent(env["SSH_AUTH_SOCK"]).is_there
    with pytest.raises(paramiko.SSHException, match="no agent answers"), login.signing_key():
        pass
