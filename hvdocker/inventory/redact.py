"""What may not be shown: values of the environment whose names or looks say that they are secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hvdocker.inventory.inventory import Inventory

HIDDEN = "***"

# By whole words, so that KEYBOARD, TOKENIZERS_PARALLELISM and PWD stay readable.
_WORDS = (
    "key", "keys", "pass", "pwd", "auth", "authorization", "credential", "credentials", "cookie", "dsn",
    "jwt",
)  # fmt: skip
# Often glued to what they belong to: PGPASSWORD, APIKEY.
_ENDS = tuple(
    f"{word}{plural}"
    for word in ("password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey")
    for plural in ("", "s")
)
_SEAMS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<login>[^\s/?#]*)@")
# The beginnings that well-known services give their tokens.
_LOOKS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA|ASIA)"
    r"[A-Za-z0-9_-]{12,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."
)


def redacted(inventory: Inventory) -> Inventory:
    return replace(inventory, env=redacted_env(inventory.env))


def redacted_env(env: Mapping[str, str]) -> dict[str, str]:
    return {name: redacted_value(name, value) for name, value in env.items()}


def redacted_value(name: str, value: str) -> str:
    """An empty value hides nothing; of an address only what comes before its host is hidden."""
    if value and (is_secret_name(name) or _LOOKS.search(value)):
        return HIDDEN
    return _URL.sub(_without_login, value)


def is_secret_name(name: str) -> bool:
    words = [word.lower() for word in _SEAMS.split(name) if word]
    if words in (["pwd"], ["oldpwd"]):
        return False
    return any(word in _WORDS or word.endswith(_ENDS) for word in words)


def _without_login(found: re.Match[str]) -> str:
    user, colon, _ = found["login"].partition(":")
    return f"{found['scheme']}{f'{user}:' if colon else ''}{HIDDEN}@"
