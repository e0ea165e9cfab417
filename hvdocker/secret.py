"""Secrets: values that print as stars, and where a person says that they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import AnyStr, Generic

from hvdocker.errors import UsageProblem

_FLAG = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?", re.DOTALL)


class Secret(Generic[AnyStr]):
    """Text or bytes that print as stars."""

    def __init__(self, value: AnyStr) -> None:
        self._value: AnyStr = value

    def reveal(self) -> AnyStr:
        return self._value

    def __repr__(self) -> str:
        return "***"


@dataclass(frozen=True)
class SecretSource:
    """A secret by its name: the caller's variable of that name, or the file at `path`."""

    name: str
    path: str | None = None


def parse_secrets(flags: Sequence[str]) -> tuple[SecretSource, ...]:
    """`NAME` or `NAME=@FILE`. What else was typed may be a secret itself: no error repeats it."""
    found: dict[str, SecretSource] = {}
    for flag in flags:
        source = _parse(flag)
        if source.name in found:
            raise UsageProblem(f"--secret {source.name} is given twice")
        found[source.name] = source
    return tuple(found.values())


def _parse(flag: str) -> SecretSource:
    matched = _FLAG.fullmatch(flag)
    if not matched:
        raise UsageProblem(
            "--secret should be NAME or NAME=@FILE; a name is made of letters, digits and _",
            fix="did the shell put a value in its place? Write --secret TOKEN, not --secret $TOKEN",
        )
    name, value = matched[1], matched[2]
    if value is None:
        return SecretSource(name)
    if len(value) > 1 and value.startswith("@"):
        return SecretSource(name, value[1:])
    raise UsageProblem(
        f"--secret {name} has its value on the command line, where everyone on this machine can read it",
        fix=f"put it into the environment and say --secret {name}, or into a file: --secret {name}=@FILE",
    )
