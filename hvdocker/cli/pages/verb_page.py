"""The help page of one verb: usage, description, and its options under headings."""

from __future__ import annotations

import textwrap
from typing import Any

from hvdocker.cli.flags.panels import ARGUMENTS, OPTIONS, ORDER, SHARED, WHAT
from hvdocker.cli.pages.layout import page_width, section, widest_label

_INVENTORY_ROW = ("INVENTORY", "The YAML file that names the hosts; or -i. Default: the current one.")


def verb_page(command: Any, ctx: Any, is_complete: bool) -> str:
    """Return the help page of a verb.

    `is_complete` adds the options that most verbs share. Otherwise only the names of these options are listed at the
    end. The types are `Any` because they are classes of click that depend on typer's version."""
    panels = _panels(command, ctx)
    shared = [] if is_complete else panels.pop(SHARED, [])
    width = widest_label(label for rows in panels.values() for label, _ in rows)
    lines = [f"Usage: {usage(command, ctx)}", "", *(command.help or "").splitlines(), ""]
    for title in ORDER:
        if rows := panels.get(title):
            lines += section(title, rows, width)
    return "\n".join([*lines, *_footer([label for label, _ in shared if "--help" not in label], ctx)]) + "\n"


def usage(command: Any, ctx: Any) -> str:
    arguments = [_argument(param) for param in command.params if param.param_type_name == "argument"]
    inventory = ["[INVENTORY]"] if command.takes_inventory else []
    return " ".join([ctx.command_path, *inventory, *arguments, command.options_metavar])


def _panels(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the arguments and options of a command by heading, each as a row: a label and its text."""
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    headings = {getattr(param, "rich_help_panel", None) for param in shown}
    arguments = WHAT if WHAT in headings else ARGUMENTS
    panels: dict[str, list[tuple[str, str]]] = {arguments: [_INVENTORY_ROW]} if command.takes_inventory else {}
    for param in shown:
        if param.param_type_name == "argument":
            panels.setdefault(arguments, []).append((_name(param), param.help or ""))
        else:
            heading = SHARED if _is_help(param) else getattr(param, "rich_help_panel", None) or OPTIONS
            panels.setdefault(heading, []).append((_label(param), _text(param)))
    return panels


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.human_readable_name).upper()


def _argument(param: Any) -> str:
    name = _name(param)
    many = "..." if param.nargs != 1 else ""
    return f"{name}{many}" if param.required else f"[{name}]{many}"


def _is_help(param: Any) -> bool:
    return "--help" in param.opts


def _label(param: Any) -> str:
    value = "" if param.is_flag or _is_help(param) else param.metavar or param.type.name.upper()
    return " ".join(part for part in (", ".join(param.opts), value) if part)


def _text(param: Any) -> str:
    if _is_help(param):
        return "Show this page and exit."
    text = param.help or ""
    if not param.is_flag and param.show_default and param.default not in (None, "") and not callable(param.default):
        text += f" Default: {param.default}."
    return f"{text} Or ${param.envvar}." if param.envvar else text


def _footer(shared: list[str], ctx: Any) -> list[str]:
    if not shared:
        return []
    names = ", ".join(label.split(",")[0].split(" ")[0] for label in shared)
    verb = ctx.command_path.partition(" ")[2]
    return [
        "",
        *textwrap.wrap(
            f"Also {names}: see hvdocker help {verb}", page_width(), break_on_hyphens=False, break_long_words=False
        ),
    ]
