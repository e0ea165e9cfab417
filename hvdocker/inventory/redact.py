"""Hides environment values that are secret, judged by the variable's name or the format of the value. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hvdocker.inventory.inventory import Inventory

HIDDEN = "***"

# Compared with whole words of a name, so that KEYBOARD and TOKENIZERS_PARALLELISM stay readable.
_SECRET_WORDS = (
    "key", "keys", "pass", "pwd", "auth", "authorization", "credential", "credentials", "cookie", "dsn",
    "jwt",
)  # fmt: skip
# Compared with the end of each word, because they are often written without a separator: PGPASSWORD, APIKEY.
_SECRET_SUFFIXES = tuple(
    f"{word}{plural}"
    for word in ("password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey")
    for plural in ("", "s")
)
_WORD_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_URL_LOGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<login>[^\s/?#]*)@")
# Private keys, JSON web tokens, and the token prefixes of well-known services.
_TOKEN_FORMATS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA|ASIA)"
    r"[A-Za-z0-9_-]{12,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."
)


def redacted(inventory: Inventory) -> Inventory:
    """Return the inventory with the secret values of `env` replaced by stars. `redacted_value` decides which are
    secret."""
    return replace(inventory, env=redacted_env(inventory.env))


def redacted_env(env: Mapping[str, str]) -> dict[str, str]:
    return {name: redacted_value(name, value) for name, value in env.items()}


def redacted_value(name: str, value: str) -> str:
    """Return `value`, or three stars if it is secret. The variable's `name` or the format of the value shows whether it
    is.

    In a value that is not secret only the login of a URL is hidden: user:PASSWORD@ becomes user:***@, and a login
    without a password becomes ***@. An empty value is returned unchanged."""
    if value and (is_secret_name(name) or _TOKEN_FORMATS.search(value)):
        return HIDDEN
    return _URL_LOGIN.sub(_without_login, value)


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of this name usually holds a secret, such as PGPASSWORD or API_KEY.

    PWD and OLDPWD hold none."""
    words = [word.lower() for word in _WORD_BOUNDARY.split(name) if word]
    if words in (["pwd"], ["oldpwd"]):
        return False
    return any(word in _SECRET_WORDS or word.endswith(_SECRET_SUFFIXES) for word in words)


def _without_login(found: re.Match[str]) -> str:
    user, colon, _ = found["login"].partition(":")
    return f"{found['scheme']}{f'{user}:' if colon else ''}{HIDDEN}@"
