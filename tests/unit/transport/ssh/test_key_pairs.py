import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hvdocker.errors import ExitCode, UsageProblem
from hvdocker.transport.ssh.key_pairs import (
    ClusterKeys,
    Secret,
    make_pair,
    pair_from_private,
    read_user_key_pair,
)


def write(folder: Path, private: str, public: str) -> tuple[Path, Path]:
    (folder / "mine").write_text(private)
    (folder / "mine.pub").write_text(public)
    return folder / "mine", folder / "mine.pub"


def test_a_pair_survives_its_text() -> None:
    pair = make_pair()
    assert pair.public.startswith("ssh-ed25519 AAAA") and len(pair.public.split()) == 2
    assert pair_from_private(pair.private.reveal()).public == pair.public


def test_every_pair_is_another() -> None:
    assert make_pair().public != make_pair().public


def test_openssh_reads_what_we_write(tmp_path: Path) -> None:
    pair = make_pair()
    path = tmp_path / "key"
    path.write_text(pair.private.reveal())
    path.chmod(0o600)
    done = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == pair.public.split()


def test_a_secret_prints_stars() -> None:
    pair = make_pair()
    ring = ClusterKeys(pair, {"a": pair}, {"a": pair.public})
    for text in (repr(pair), str(pair.private), f"{ring}", f"{pair.private!s} {pair.private!r}"):
        assert "***" in text and "PRIVATE" not in text
    assert Secret("x").reveal() == "x"


def test_a_brought_pair(tmp_path: Path) -> None:
    pair = make_pair()
    private, public = write(tmp_path, pair.private.reveal(), f"{pair.public} ada@laptop\n")
    assert read_user_key_pair(private, public).public == pair.public


@pytest.mark.parametrize("missing", ["mine", "mine.pub"])
def test_a_brought_pair_that_is_not_there(tmp_path: Path, missing: str) -> None:
    private, public = write(tmp_path, make_pair().private.reveal(), "")
    (tmp_path / missing).unlink()
    with pytest.raises(UsageProblem, match=f"the key file .*/{missing} is not there") as caught:
        read_user_key_pair(private, public)
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.fix and "ssh-keygen -t ed25519" in caught.value.fix


def test_halves_of_two_pairs(tmp_path: Path) -> None:
    private, public = write(tmp_path, make_pair().private.reveal(), make_pair().public)
    with pytest.raises(UsageProblem, match=r"mine\.pub does not belong to .*/mine"):
        read_user_key_pair(private, public)


def test_an_empty_public_half(tmp_path: Path) -> None:
    private, public = write(tmp_path, make_pair().private.reveal(), "")
    with pytest.raises(UsageProblem, match="does not belong"):
        read_user_key_pair(private, public)


def with_a_passphrase() -> str:
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        # The default number of rounds costs a second.
        serialization.PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(1).build(b"secret"),
    ).decode()  # fmt: skip


def of_another_kind() -> str:
    key = rsa.generate_private_key(65537, 1024)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()


@pytest.mark.parametrize(
    "make",
    [with_a_passphrase, of_another_kind, lambda: "no key at all\n", lambda: "", lambda: make_pair().public],
    ids=["passphrase", "rsa", "no key", "empty", "the public half"],
)
def test_a_private_half_that_cannot_be_used(tmp_path: Path, make) -> None:
    private, public = write(tmp_path, make(), "ssh-ed25519 AAAA")
    with pytest.raises(UsageProblem, match="is not an ed25519 private key without a passphrase"):
        read_user_key_pair(private, public)


def test_a_private_half_that_is_no_text(tmp_path: Path) -> None:
    private, public = write(tmp_path, "", "ssh-ed25519 AAAA")
    private.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageProblem, match="is not an ed25519 private key"):
        read_user_key_pair(private, public)
