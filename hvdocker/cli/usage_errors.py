"""Turns errors of the command line's parser into UsageProblem, so that every error has one format."""

from __future__ import annotations

import re
from typing import Any

import typer

from hvdocker.cli.synonyms import unknown_flag
from hvdocker.errors import UsageProblem

# The parser's base class of usage errors. Some versions of typer bring a copy of click, others need click itself.
ParserError: Any = typer.BadParameter.__mro__[1]


def as_usage_problem(error: Any) -> UsageProblem:
    """Return the UsageProblem to show for `error`, an error of the command line's parser (an instance of
    ParserError)."""
    kind = type(error).__name__
    command = error.ctx.command_path if error.ctx else "hvdocker"
    see = f"see {command} -h"
    if kind == "NoSuchOption":
        known = [flag for param in error.ctx.command.params for flag in param.opts] if error.ctx else []
        return unknown_flag(error.option_name, command, known)
    if kind == "BadOptionUsage":
        return UsageProblem(_option_usage(error), fix=see)
    if kind == "MissingParameter" and error.param is not None:
        return UsageProblem(f"{command} needs {_shown(error.param)}", fix=see)
    if kind == "BadParameter" and error.param is not None:
        return UsageProblem(f"{_shown(error.param)} should be {_wanted(error.param)}{_got(error)}", fix=see)
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", error.message):
        return UsageProblem(f"{command} does not take {extra[1]!r}", fix=see)
    return UsageProblem(error.format_message().rstrip("."), fix=see)


def _option_usage(error: Any) -> str:
    if "not take a value" in error.message:
        return f"{error.option_name} takes no value"
    params = error.ctx.command.params if error.ctx else []
    metavar = next((param.metavar for param in params if error.option_name in param.opts), None)
    return f"{error.option_name} needs a value" + (f": {error.option_name} {metavar}" if metavar else "")


def _shown(param: Any) -> str:
    return str(param.opts[0] if param.param_type_name == "option" else param.human_readable_name.upper())


def _wanted(param: Any) -> str:
    """Return what the value of a parameter should be, such as `an integer of at least 1`.

    Problems of an inventory use the same words."""
    name = param.type.name
    noun = "an integer" if name.startswith("int") else "a number" if name.startswith("float") else "another value"
    low = getattr(param.type, "min", None)
    return f"{noun} of at least {low:g}" if low is not None else noun


def _got(error: Any) -> str:
    found = re.search(r"^'?(.+?)'? is not (?:a valid|in the range)", error.message)
    return f", got {found[1]}" if found else ""
