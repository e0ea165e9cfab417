"""Writes the man page hvdocker(1) from the help of all commands: `python -m hvdocker.cli.man_page > hvdocker.1`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import typer.main

from hvdocker import __version__
from hvdocker.cli.app import app
from hvdocker.cli.pages.topics import EXIT_CODES


def man_page() -> str:
    """Return the text of the man page in the macros of man(7)."""
    root: Any = typer.main.get_command(app)  # Any: classes of click that depend on typer's version
    lines = [
        f'.TH HVDOCKER 1 "" "hvdocker {__version__}"',
        ".SH NAME",
        _text(f"hvdocker - {root.help.splitlines()[0].rstrip('.')}"),
        ".SH SYNOPSIS",
        r".B hvdocker \fICOMMAND\fR [\fIARGUMENTS\fR]",
        ".SH OPTIONS",
        *_parameters(root),
        ".SH COMMANDS",
    ]
    for words, command in _commands(root, ("hvdocker",)):
        lines += [f'.SS "{_text(" ".join(words))}"', *_paragraphs(command.help), *_parameters(command)]
    lines.append(".SH EXIT STATUS")
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", rf"\fB{code:d}\fR", _text(meaning)]
    return "\n".join([*lines, ""])


def _commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands that are no groups of subcommands. Each comes with the words that name it, such as `hvdocker
    image ls`.

    This imports the files of all verbs."""
    for name in group.commands:
        context = group.make_context(words[-1], [name], resilient_parsing=True)
        child = group.resolve_command(context, [name])[1]
        if hasattr(child, "commands"):
            yield from _commands(child, (*words, name))
        else:
            yield (*words, name), child


def _parameters(command: Any) -> Iterator[str]:
    """Yield the paragraphs of the arguments and options of a command."""
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        metavar = _text(parameter.metavar or "")
        if parameter.param_type_name == "option":
            shown = ", ".join(rf"\fB{_text(name)}\fR" for name in parameter.opts)
            shown += rf" \fI{metavar}\fR" if metavar else ""
        else:
            shown = rf"\fI{metavar or _text(parameter.name.upper())}\fR"
        yield from (".TP", shown, _text(parameter.help or ""))


def _paragraphs(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text. Lines of an indented paragraph, such as examples, stay as they are."""
    for paragraph in textwrap.dedent(help_text).strip().split("\n\n"):
        if paragraph.startswith(" "):
            yield from (".PP", ".nf", *(_text(line.strip()) for line in paragraph.splitlines()), ".fi")
        else:
            yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """Return the text with the characters that roff would interpret or change escaped."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    print(man_page(), end="")
