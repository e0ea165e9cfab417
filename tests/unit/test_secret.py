"""Secrets print as stars; what was typed in a wrong place is not repeated."""

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.secret import Secret, SecretSource, parse_secrets


def test_a_secret_prints_as_stars() -> None:
    for secret in (Secret("s3cr3t"), Secret(b"s3cr3t")):
        assert f"{secret} {secret!r} {[secret]}" == "*** *** [***]"
    assert Secret(b"s3cr3t").reveal() == b"s3cr3t"


def test_names_and_files() -> None:
    assert parse_secrets(["TOKEN", "_c2=@it's = a file@"]) == (
        SecretSource("TOKEN"),
        SecretSource("_c2", "it's = a file@"),
    )
    assert parse_secrets([]) == ()


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["TOKEN=s3cr3t-value"], "--secret TOKEN has its value on the command line"),
        (["TOKEN="], "has its value on the command line"),
        (["TOKEN=@"], "has its value on the command line"),
        (["s3cr3t-value"], "--secret should be NAME or NAME=@FILE"),
        (["9TOKEN"], "should be NAME"),
        (["A/B=@f"], "should be NAME"),
        (["TOKEN\n"], "should be NAME"),
        ([""], "should be NAME"),
        (["TOKEN", "TOKEN=@f"], "--secret TOKEN is given twice"),
    ],
)
def test_wrong_flags(flags: list[str], what: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_secrets(flags)
    assert what in caught.value.what
    assert "s3cr3t-value" not in f"{caught.value.what} {caught.value.fix} {caught.value.lines}"
