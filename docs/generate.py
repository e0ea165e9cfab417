"""Writes the two pages of the reference that come from code: `make reference`.

docs/reference/commands.md comes from the flags and help texts of the command line, docs/reference/inventory.md from
the table of fields. A test compares both with the code."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from hvdocker.cli.app import app
from hvdocker.cli.verb_table import VERBS
from hvdocker.inventory.fields import INVENTORY_FIELD, Field, FieldKind

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py: change the code, then run `make reference`. -->"
MARKUP = re.compile(r"\[bold\](.*?)\[/(?:bold)?\]", re.DOTALL)


def pages() -> dict[Path, str]:
    return {REFERENCE / "commands.md": commands_page(), REFERENCE / "inventory.md": inventory_page()}


def commands_page() -> str:
    head = [
        "# Commands",
        NOTE,
        "This page has every command with all of its flags. `hvdocker COMMAND --help` prints the same.",
        "The words after `--` are arguments of your own script or command. `--debug` may stand anywhere before `--`.",
        table(("command", "what it does"), [(f"[`{name}`](#hvdocker-{name})", VERBS[name].help) for name in VERBS]),
    ]
    group = typer.main.get_command(app)
    sections = [section for name in VERBS for section in command_sections(child_of(group, name), f"hvdocker {name}")]
    return "\n\n".join([*head, *sections]) + "\n"


def command_sections(command: Any, words: str) -> Iterator[str]:
    """Yield the section of a command, then those of its subcommands. Any: classes of click that depend on typer."""
    yield f"## {words}"
    yield prose(command.help)
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    rows = [(argument_name(one), one_line(one.help or "")) for one in arguments]
    if rows := [*inventory_rows(command, bool(arguments)), *rows]:
        yield table(("argument", ""), rows)
    flags = [one for one in shown if one.param_type_name != "argument"]
    for title in dict.fromkeys(["", *map(heading_of, flags)]):
        if title:
            yield f"**{title}**"
        if rows := [(flag_name(one), flag_text(one)) for one in flags if heading_of(one) == title]:
            yield table(("flag", ""), rows)
    for name in getattr(command, "commands", {}):
        yield from command_sections(child_of(command, name), f"{words} {name}")


def child_of(group: Any, name: str) -> Any:
    """Return a command of a group, loaded as a command line that names it loads it."""
    return group.resolve_command(group.make_context("hvdocker", ["x"], resilient_parsing=True), [name])[1]


def inventory_rows(command: Any, has_arguments: bool) -> Iterator[tuple[str, str]]:
    """Yield the row of the inventory as first argument, if the command takes one. `has_arguments` says that it has
    others too."""
    if getattr(command, "takes_inventory", False):
        has_others = has_arguments or command.context_settings.get("allow_extra_args")
        only = " As argument its name has to end with `.yaml` or `.yml`." if has_others else ""
        yield "`FILE`", f"The inventory, the same as `-i FILE`.{only}"


def heading_of(flag: Any) -> str:
    return getattr(flag, "rich_help_panel", None) or ""


def argument_name(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return f"`{name.strip('[]{}')}`" + (" (required)" if argument.required else "")


def flag_name(flag: Any) -> str:
    spelled = ", ".join(f"`{name}`" for name in [*flag.opts, *flag.secondary_opts])
    return f"{spelled} `{flag.metavar}`" if flag.metavar else spelled


def flag_text(flag: Any) -> str:
    text = one_line(flag.help or "")
    if isinstance(flag.show_default, str) or (flag.show_default and isinstance(flag.default, str | int | float)):
        shown = flag.show_default if isinstance(flag.show_default, str) else flag.default
        text += f" Default: `{shown}`." if not isinstance(shown, bool) and "Default:" not in text else ""
    variables = [flag.envvar] if isinstance(flag.envvar, str) else flag.envvar or []
    return text + "".join(f" Also by the variable `{name}`." for name in variables)


def prose(text: str) -> str:
    """Return a help text as Markdown. Its emphasis is always a command; an indented paragraph becomes a block."""
    return "\n\n".join(map(paragraph, (text or "").split("\n\n")))


def paragraph(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    if lines and all(line.startswith("hvdocker ") for line in lines):
        return "\n".join(["```console", *(f"$ {line}" for line in lines), "```"])
    if text.strip() and all(line.startswith("  ") for line in text.strip("\n").splitlines()):
        return "\n".join(["```sh", *textwrap.dedent(text.strip("\n")).splitlines(), "```"])
    return re.sub(MARKUP, lambda found: f"`{found[1]}`", one_line(text))


def inventory_page() -> str:
    head = [
        "# The inventory",
        NOTE,
        "This page has every key of `inventory.yaml`. `hvdocker init` writes a file in which all of them are",
        "explained, `hvdocker config` prints the file as hvdocker understands it and says where each value comes",
        "from, and `hvdocker config --schema` prints a JSON Schema for editors.\n",
        "Only `hosts` is required (or `local`). Keys that begin with `x-` are ignored: write notes there. All mistakes",
        "of the file are reported at once, each with its line. An example with most keys stands in",
        "[The inventory by example](inventory-example.md).",
    ]
    return "\n".join(["\n\n".join(head[:2]), "", *head[2:], "", *group_sections(INVENTORY_FIELD, "Top level")])


def group_sections(group: Field, title: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield table(("key", "value", "meaning", "without it", "example"), map(field_row, group.fields)) + "\n"
    for field in group.fields:
        if field.fields:
            owner = " of a host" if group.name == "hosts" else ""
            yield from group_sections(field, f"Keys of `{field.name}`{owner}")


def field_row(field: Field) -> tuple[str, ...]:
    default = "required" if field.is_required else field.default or "–"
    return (f"`{field.name}`", value_text(field), one_line(field.help), default, f"`{field.example}`")


def value_text(field: Field) -> str:
    if field.kind is FieldKind.WHOLE:
        return f"{field.low} to {field.high}" if field.high else f"{field.low} or more"
    return "a size such as `16GB`" if field.kind is FieldKind.SIZE else field.kind.value


def one_line(text: str) -> str:
    return " ".join(text.split())


def table(heading: tuple[str, ...], rows: Any) -> str:
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
