"""Secret values that print as stars, and the parser of `--secret` flags. Pure: reads no variable or file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import AnyStr, Generic

from hvdocker.errors import UsageProblem

_FLAG = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?", re.DOTALL)


class Secret(Generic[AnyStr]):
    """A text or bytes value that prints as `***`, so that no message or log contains the value by accident.

    `reveal` returns the value."""

    def __init__(self, value: AnyStr) -> None:
        self._value: AnyStr = value

    def reveal(self) -> AnyStr:
        return self._value

    def __repr__(self) -> str:
        return "***"


@dataclass(frozen=True)
class SecretSource:
    """The place from which the value of the secret `name` is read.

    It is the file `path`, or the environment variable with the name of the secret if `path` is None."""

    name: str
    path: str | None = None


def parse_secrets(flags: Sequence[str]) -> tuple[SecretSource, ...]:
    """Parse the values of `--secret` flags, `NAME` or `NAME=@FILE`.

    Raise UsageProblem for any other form, and for a name that is given twice. Error messages contain at most the name,
    because the rest of a wrong flag may be the secret itself."""
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
