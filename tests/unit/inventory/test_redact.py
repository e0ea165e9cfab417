import pytest

from hvdocker.inventory.parse import parse
from hvdocker.inventory.redact import is_secret_name, redacted, redacted_value


@pytest.mark.parametrize(
    "name",
    ["WANDB_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "db_pass", "MYSQL_PWD",
    "apiKey", "APIKEY",
     "GOOGLE_APPLICATION_CREDENTIALS", "MY_PASSPHRASE", "SECRETS", "OAuthToken", "Authorization", "KEY"],
)  # fmt: skip
def test_names_that_look_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "KEYBOARD",
        "TOKENIZERS_PARALLELISM",
        "PWD",
        "OLDPWD",
        "PASSES",
        "MONKEY",
        "COMPASS",
        "NCCL_DEBUG",
        "SEED",
    ],
)
def test_names_that_only_sound_like_it(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://kim:pw@proxy.lab:3128/x", "https://kim:***@proxy.lab:3128/x"),
        ("https://gto9ken@git.lab/x", "https://***@git.lab/x"),
        ("redis://:pw@cache", "redis://:***@cache"),
        ("http://a:p@h http://b:q@i", "http://a:***@h http://b:***@i"),
        ("https://kim:p@w@proxy", "https://kim:***@proxy"),
        ("https://proxy.lab:3128/~kim@home", "https://proxy.lab:3128/~kim@home"),
        ("ghp_0123456789abcdefghij", "***"),
        ("-----BEGIN OPENSSH " + "PRIVATE KEY-----\nx", "***"),
        ("WARN", "WARN"),
        ("", ""),
    ],
)
def test_values_that_look_secret(value: str, shown: str) -> None:
    assert redacted_value("X", value) == shown


def test_an_empty_secret_hides_nothing() -> None:
    assert redacted_value("TOKEN", "") == ""


def test_an_inventory_with_its_secrets_hidden() -> None:
    inventory = parse("env: {HF_TOKEN: abc, SEED: 7}\nssh: {key: ~/.ssh/key}\nhosts: [a]", "x", "here")
    shown = redacted(inventory)
    assert shown.env == {"HF_TOKEN": "***", "SEED": "7"}
    assert shown.hosts == inventory.hosts
