"""The class of all verbs. It adds an inventory as first argument, hvdocker's own help page, and completion of words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
import typer.core

from hvdocker.cli.synonyms import unknown_verb
from hvdocker.cli.typed_words import INVENTORY_SUFFIXES, WordGroup, WordKind, group_words
from hvdocker.cli.usage_errors import ParserError

# The key in `ctx.meta` of typer for the words of the verb, as they were typed.
TYPED = "hvdocker.typed"
# Flags of which an inventory as argument is refused. Only `up` has the last two together with an inventory.
_INSTEAD = ("-i", "--inventory", "--hosts", "--local")


class VerbCommand(typer.core.TyperCommand):
    """The typer command of a verb.

    Arguments and results of its methods are `Any` where they are classes of click that depend on typer's version."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.takes_inventory = any(param.name == "inventory" for param in self.params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line. If the first argument is the inventory, it becomes the value of `-i`.

        A verb without other arguments takes any file there, such as a pipe. Elsewhere the name has to end with .yaml
        or .yml, so that it cannot be a job, a host or a script. Raise UsageProblem if `-i` is given too, or if a value
        is empty."""
        ctx.meta[TYPED] = list(args)
        with _naming_the_verb(ctx):
            if not ctx.resilient_parsing:
                self._refuse_empty_values(ctx, args)
            return self._parse(ctx, args)

    def _parse(self, ctx: Any, args: list[str]) -> list[str]:
        at = self._inventory_index(ctx, args) if self.takes_inventory else None
        if at is None:
            return super().parse_args(ctx, args)
        parsed = super().parse_args(ctx, [*args[:at], *args[at + 1 :]])
        if ctx.params["inventory"] is not None and not ctx.resilient_parsing:
            from hvdocker.errors import UsageProblem

            raise UsageProblem(
                f"an inventory and -i exclude each other: {args[at]}, -i {ctx.params['inventory']}",
                fix="leave one of them out",
            )
        ctx.params["inventory"] = Path(args[at])
        return parsed

    def _refuse_empty_values(self, ctx: Any, args: list[str]) -> None:
        """Raise UsageProblem for `--cluster ""` and the like. An empty value comes from an unset variable of a shell,
        and would mean the default: another cluster, every host, the newest job."""
        for group in self._groups(args):
            is_flag = group.kind is WordKind.FLAG
            value = group.value if is_flag else group.words[0]
            if value is not None and not value.strip():
                from hvdocker.errors import UsageProblem

                what = (
                    f"{group.name} needs a value" if is_flag else f"{ctx.command_path} does not take an empty argument"
                )
                raise UsageProblem(what, fix=f"is a variable of the shell not set? see {ctx.command_path} -h")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from hvdocker.cli.pages.verb_page import verb_page

        formatter.write(verb_page(self, ctx, is_complete=False))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        found = super().shell_complete(ctx, incomplete)
        return found if incomplete.startswith("-") else [*found, *self._complete_inventory(ctx, incomplete)]

    def _complete_inventory(self, ctx: Any, incomplete: str) -> Iterator[Any]:
        """Yield the inventories whose names begin with `incomplete`, if this word can be one: it is the first argument,
        and no flag stands for the inventory."""
        groups = self._groups(ctx.meta.get(TYPED, []))
        has_one = any(group.kind is not WordKind.FLAG or group.name in _INSTEAD for group in groups)
        if not self.takes_inventory or has_one:
            return
        from hvdocker.cli.completers import completion_item, inventory_files

        yield from (completion_item(name) for name in inventory_files(incomplete))

    def _inventory_index(self, ctx: Any, args: list[str]) -> int | None:
        """Return the index in `args` of the first argument if that is the inventory, else None."""
        has_others = ctx.allow_extra_args or any(param.param_type_name == "argument" for param in self.params)
        arguments = (WordKind.ARGUMENT, WordKind.INVENTORY)
        at = next((group.at for group in self._groups(args) if group.kind in arguments), None)
        if at is None or (has_others and not args[at].endswith(INVENTORY_SUFFIXES)):
            return None
        return at

    def _groups(self, args: list[str]) -> list[WordGroup]:
        launcher_flags = {}
        if any(param.name == "launcher" for param in self.params):
            from hvdocker.launchers.passed_flags import PASSED_FLAGS

            launcher_flags = PASSED_FLAGS
        return group_words(self.params, args, launcher_flags)


@contextmanager
def _naming_the_verb(ctx: Any) -> Iterator[None]:
    """Set `ctx` as the context of parser errors that have none, so that their messages name the verb."""
    try:
        yield
    except ParserError as error:
        error.ctx = error.ctx or ctx
        raise


class GroupCommand(typer.core.TyperGroup):
    """The typer command of a verb with subcommands, such as `image`."""

    takes_inventory = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line.

        If there are none, the subcommand is missing: print the help page on stderr and end with exit code 2."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(2)
        return list(super().parse_args(ctx, args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the subcommand, its typer command and the other arguments.

        For a word that is no subcommand, raise UsageProblem. While a shell completes words, return None as command
        instead."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            behind = ("--", *ctx.obj.rest) if ctx.obj and ctx.obj.rest else ()
            raise unknown_verb(args[0], [*args[1:], *behind], self.commands, ctx.command_path)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from hvdocker.cli.pages.layout import section, widest_label

        rows = [(name, self.commands[name].get_short_help_str(200)) for name in self.list_commands(ctx)]
        lines = [f"Usage: {ctx.command_path} VERB [OPTIONS]", "", self.help or "", ""]
        lines += section("Verbs", rows, widest_label(name for name, _ in rows))
        formatter.write("\n".join([*lines, "", f"More: {ctx.command_path} VERB -h"]) + "\n")
