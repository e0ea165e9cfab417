"""Which keys are offered, in which order, and when a passphrase is needed; the server is a stand-in."""

import shutil
import subprocess
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import PassphraseRequired, UsageProblem
from hvdocker.inventory.ssh_config.config import key_files
from hvdocker.transport.ssh import auth
from hvdocker.transport.ssh.auth import Login, OpenedKeys, is_passphrase_of

SECRET = "correct horse"


def make(path: Path, kind: str = "ed25519", passphrase: str = "", form: str = "RFC4716") -> str:
    pem = ["-m", "PEM"] if form == "PEM" else []
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *pem, "-N", passphrase, "-C", path.name, "-f", path], check=True)
    return str(path)


class Server:
    """Accepts one public key or certificate, by the name it is offered under."""

    def __init__(self, *accepted: bytes, more: list[str] | None = None) -> None:
        self.accepted = accepted
        self.more = more or []
        self.offered: list[bytes] = []

    def is_active(self) -> bool:
        return len(self.offered) < 6

    def auth_publickey(self, user: str, key: paramiko.PKey) -> list[str]:
        blob = key.public_blob.key_blob if key.public_blob else key.asbytes()
        self.offered.append(blob)
        if blob not in self.accepted:
            raise paramiko.AuthenticationException("no")
        return self.more


def blob(path: str) -> bytes:
    found: bytes = auth.PublicBlob.from_file(path).key_blob
    return found


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


def through(server: Server, *files: str, passphrases: dict[str, str] | None = None, **more: object) -> None:
    Login("me", files, OpenedKeys(passphrases or {}), **more).authenticate(server)


@pytest.mark.parametrize(
    ("kind", "form"), [("ed25519", "RFC4716"), ("ecdsa", "RFC4716"), ("rsa", "RFC4716"), ("rsa", "PEM")]
)
def test_every_kind_of_key_file_with_and_without_a_passphrase(tmp_path: Path, kind: str, form: str) -> None:
    plain, locked = make(tmp_path / "plain", kind, form=form), make(tmp_path / "locked", kind, SECRET, form)
    through(Server(blob(f"{plain}.pub")), plain)
    server = Server(blob(f"{locked}.pub"))
    with pytest.raises(PassphraseRequired) as caught:
        through(server, locked)
    assert caught.value.path == locked and server.offered == []
    assert caught.value.exit_code == 4 and f"ssh-add {locked}" in (caught.value.fix or "")
    assert not is_passphrase_of(locked, "wrong") and is_passphrase_of(locked, SECRET)
    through(server, locked, passphrases={locked: SECRET})


def test_nobody_is_asked_while_another_key_will_do(tmp_path: Path) -> None:
    locked, plain = make(tmp_path / "locked", passphrase=SECRET), make(tmp_path / "plain")
    through(Server(blob(f"{plain}.pub")), locked, plain)


def test_a_wrong_passphrase_that_was_kept_is_a_locked_key(tmp_path: Path) -> None:
    locked = make(tmp_path / "locked", passphrase=SECRET)
    with pytest.raises(PassphraseRequired):
        through(Server(), locked, passphrases={locked: "wrong"})


@pytest.mark.parametrize("form", ["RFC4716", "PEM"])
def test_a_key_file_that_is_cut_off_anywhere_is_passed_over(tmp_path: Path, form: str) -> None:
    whole, good = make(tmp_path / "cut", "ecdsa", form=form), make(tmp_path / "good")
    text = Path(whole).read_bytes()
    for length in (0, 5, 20, 29, 31, 36, 40, 60, len(text) // 2, len(text) - 30):
        Path(whole).write_bytes(text[:length])
        through(Server(blob(f"{good}.pub")), whole, good)


def test_a_key_file_is_opened_once_for_all_hosts(tmp_path: Path) -> None:
    path = make(tmp_path / "key")
    keyring = OpenedKeys({})
    first = keyring.key(path)
    Path(path).unlink()
    assert keyring.key(path) is first


def certify(folder: Path, key: str, name: str) -> str:
    if not (folder / "ca").exists():
        make(folder / "ca")
    words = ["ssh-keygen", "-q", "-s", folder / "ca", "-I", "me", "-n", "trainer", f"{key}.pub"]
    subprocess.run(words, check=True)
    return shutil.move(f"{key}-cert.pub", folder / name)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_beside_the_key_is_tried_before_the_plain_key(tmp_path: Path, kind: str) -> None:
    key = make(tmp_path / "id", kind)
    certificate = certify(tmp_path, key, "id-cert.pub")
    server = Server(blob(f"{key}.pub"))
    through(server, key)
    assert server.offered == [blob(certificate), blob(f"{key}.pub")]


def test_a_certificate_named_in_the_config_goes_with_its_key_only(tmp_path: Path) -> None:
    other, key = make(tmp_path / "other"), make(tmp_path / "id")
    certificate = certify(tmp_path, key, "elsewhere.pub")
    server = Server(blob(certificate))
    through(server, other, key, certificates=(certificate,))
    assert server.offered == [blob(f"{other}.pub"), blob(certificate)]


def test_what_was_tried_is_told(tmp_path: Path) -> None:
    first, broken = make(tmp_path / "first"), tmp_path / "broken"
    broken.write_text("no key at all")
    with pytest.raises(paramiko.AuthenticationException) as caught:
        through(Server(), first, str(broken))
    assert "user me" in str(caught.value) and first in str(caught.value)
    assert f"{broken} (not a key" in str(caught.value) and "no agent is running" in str(caught.value)


def test_a_server_that_wants_more_than_a_key_is_told_apart(tmp_path: Path) -> None:
    key = make(tmp_path / "id")
    with pytest.raises(paramiko.AuthenticationException, match="also wants keyboard-interactive"):
        through(Server(blob(f"{key}.pub"), more=["keyboard-interactive"]), key)


def test_a_server_that_hangs_up_is_not_offered_more(tmp_path: Path) -> None:
    keys = [make(tmp_path / f"id{number}") for number in range(8)]
    server = Server()
    with pytest.raises(paramiko.AuthenticationException):
        through(server, *keys)
    assert len(server.offered) == 6


def test_which_files_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    usual, named = make(tmp_path / ".ssh" / "id_ed25519"), make(tmp_path / "mine")
    assert key_files(None, []) == (usual,)
    assert key_files(None, ["~/mine", usual, "~/missing"]) == (named, usual)
    assert key_files("~/mine", [usual]) == (named,)
    with pytest.raises(UsageProblem, match="missing is not there"):
        key_files("~/missing", [])
