"""Handles the words of `train` and `run` that are no options of hvdocker: the script, flags of the launcher, and
mistakes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hvdocker.cli.synonyms import FLAGS, meant_flag
from hvdocker.cli.typed_words import INVENTORY_SUFFIXES, WordGroup, WordKind, group_words, option_names
from hvdocker.cli.usage_errors import ParserError
from hvdocker.cli.verb_command import TYPED
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.launchers.passed_flags import PASSED_FLAGS, split_passed_flags

_AFTER_DASHES = "the script's own arguments go after --"
_RANKS = re.compile(r"-np?=?([0-9]+)")
_PYTHONS = ("python", "python3")
# Verbs that have many flags in common, so that a flag of one is typed for another.
_SISTERS = ("up", "train", "run")


def script_and_flags(ctx: Any, script: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the script (None if there is none), and the flags for the launcher.

    `script` is the first word that typer did not recognise as an option. `ctx` is typer's context; it has the other
    such words. Raise UsageProblem if one of the words is neither the script nor a flag of the launcher. Its fix
    suggests a corrected command line."""
    others, passed = split_passed_flags([*([script] if script else []), *ctx.args])
    if not others:
        return None, passed
    is_script = not others[0].startswith("-") and not (others[0] in _PYTHONS and ctx.params["module"])
    if len(others) == 1 and is_script:
        return others[0], passed
    raise JobLine(ctx, group_words(ctx.command.params, ctx.meta[TYPED], PASSED_FLAGS)).problem()


@dataclass(frozen=True)
class JobLine:
    """A line of `train` or `run` with a mistake. `ctx` is its context, of a class of click that depends on typer's
    version. `groups` are its words up to `--`."""

    ctx: Any
    groups: Sequence[WordGroup]

    def problem(self) -> UsageProblem:
        """Return the error to show. It suggests a line only if that line can be parsed."""
        arguments = [group.words[0] for group in self.groups if group.kind is WordKind.ARGUMENT]
        if arguments and arguments[0] in _PYTHONS:
            return self._python(arguments[0])
        flag = next((group for group in self.groups if group.kind is WordKind.UNKNOWN), None)
        if flag is None:
            return self._second_script([*arguments[1:], *arguments])
        what = f"there is no flag {flag.name}"
        if self._verb == "run" and flag.name in ("-d", "--detach"):
            why = "`run` waits for the end of the job, to give the hosts back"
            return UsageProblem(f"{what}: {why}", fix="start a cluster that stays: hvdocker up, then hvdocker train -d")
        line = self._meant_line(self._with_meant_flags(flag))
        if not (meant := self._meant(flag, is_first=True)):
            sisters = self._sisters_with(flag.name)
            what += f": it is one of {' and '.join(f'hvdocker {verb}' for verb in sisters)}" if sisters else ""
            return self._after_dashes(what, line)
        if _RANKS.fullmatch(flag.words[0]):
            return UsageProblem(what, fix=f"the number of ranks is -np: {line or self._see}")
        return UsageProblem(what, fix=f"did you mean {meant}? {f'{line}; {_AFTER_DASHES}' if line else self._see}")

    @property
    def _verb(self) -> str:
        return str(self.ctx.info_name)

    @property
    def _see(self) -> str:
        return f"see hvdocker {self._verb} -h"

    @property
    def _rest(self) -> tuple[str, ...]:
        return self.ctx.obj.rest or ()

    def _after_dashes(self, what: str, line: str | None) -> UsageProblem:
        return UsageProblem(what, fix=f"{_AFTER_DASHES}: {line}" if line else f"{_AFTER_DASHES}; {self._see}")

    def _second_script(self, unclear: Sequence[str]) -> UsageProblem:
        line = self._meant_line(self.groups)
        what = f"what is {unclear[0]!r}?" if unclear else "what should be run?"
        if self._late_inventory(self.groups) and line:
            return UsageProblem(what, fix=f"the inventory comes first: {line}")
        return self._after_dashes(what, line)

    def _python(self, python: str) -> UsageProblem:
        """Return the error for a line such as `train python train.py --epochs 3`."""
        at = next(at for at, group in enumerate(self.groups) if group.words == (python,))
        others = [*self.groups[:at], *self.groups[at + 1 :]]
        end = next((at for at, group in enumerate(others) if _is_script(group)), None)
        if end is None and not _has_module(others):
            words = [word for group in self.groups[at:] if not _is_own(group) for word in group.words]
            line = self._line([word for group in self.groups if _is_own(group) for word in group.words], words)
            return UsageProblem(f"what is {python!r}?", fix=f"a command goes after --: {line}" if line else self._see)
        # Flags before the script are those of python.
        kept = [
            group for place, group in enumerate(others) if place >= (end or 0) or group.kind is not WordKind.UNKNOWN
        ]
        line = self._meant_line(kept)
        what = f"what is {python if end is None else others[end].words[0]!r}?"
        return UsageProblem(what, fix=f"hvdocker calls {python} itself: {line or self._see}")

    def _with_meant_flags(self, first: WordGroup) -> list[WordGroup]:
        """Return the groups with flags of the verb in place of those that were typed for them: all for the first
        unknown flag, which the error names, and for others only the usual words of other tools."""
        groups: list[WordGroup] = []
        queue = list(self.groups)
        while queue:
            group = queue.pop(0)
            meant = self._meant(group, is_first=group is first) if group.kind is WordKind.UNKNOWN else None
            if not meant:
                groups.append(group)
                continue
            ranks = _RANKS.fullmatch(group.words[0])
            value = ranks[1] if ranks else group.value
            if value is None and self._takes_value(meant) and queue and not queue[0].words[0].startswith("-"):
                value = queue.pop(0).words[0]
            words = (meant,) if value is None else (meant, value)
            groups.append(WordGroup(WordKind.FLAG, words, group.at, meant, value))
        return groups

    def _meant(self, flag: WordGroup, is_first: bool) -> str | None:
        """Return the flag that was probably meant by an unknown one, None if it is not known or given already."""
        if _RANKS.fullmatch(flag.words[0]):
            meant: str | None = "-np"
        elif self._sisters_with(flag.name) and flag.name not in FLAGS:
            meant = None
        else:
            known = {*self._options(with_value=True), *self._options(with_value=False), *PASSED_FLAGS}
            meant = meant_flag(flag.name, known) if is_first else FLAGS.get(flag.name)
            if meant == "--place" and ":" not in self._value_of(flag):
                meant = "--include"
            if meant not in known:
                return None
        if meant is None or any(group.name in self._spellings(meant) for group in self.groups):
            return None
        return meant

    def _spellings(self, flag: str) -> tuple[str, ...]:
        """Return all spellings of a flag, such as -np and --np."""
        options = (param.opts for param in self.ctx.command.params if flag in param.opts)
        return next((tuple(opts) for opts in options), (flag,))

    def _value_of(self, flag: WordGroup) -> str:
        place = self.groups.index(flag) + 1
        following = self.groups[place].words[0] if place < len(self.groups) else ""
        return following if flag.value is None else flag.value

    def _takes_value(self, flag: str) -> bool:
        return flag in self._options(with_value=True) or PASSED_FLAGS.get(flag) == 1

    def _options(self, with_value: bool) -> set[str]:
        return option_names(self.ctx.command.params, with_value)

    def _sisters_with(self, flag: str) -> list[str]:
        from hvdocker.cli.verb_table import VERBS

        sisters = [verb for verb in _SISTERS if verb != self._verb]
        return [verb for verb in sisters if any(flag in param.opts for param in VERBS[verb].load(verb).params)]

    def _meant_line(self, groups: Sequence[WordGroup]) -> str | None:
        """Return the line with the inventory first and with all behind `--` that is neither known nor the script.
        Return None if no word can be the script, or if the line would be wrong too."""
        script = None if _has_module(groups) else _script_of(groups)
        inventory = self._late_inventory(groups)
        own, arguments = list(inventory.words if inventory else ()), list[str]()
        for group in groups:
            if group is not inventory:
                (own if _is_own(group) or group is script else arguments).extend(group.words)
        if arguments and not script and not _has_module(groups):
            return None
        return self._line(own, arguments)

    def _late_inventory(self, groups: Sequence[WordGroup]) -> WordGroup | None:
        """Return the argument that is the inventory, though it is not the first. Return None if the inventory was
        given, or if the argument follows an unknown flag, which may be one of the script."""
        if any(group.kind is WordKind.INVENTORY or group.name in ("-i", "--inventory") for group in groups):
            return None
        for group in groups:
            if group.kind is WordKind.UNKNOWN:
                return None
            if group.kind is WordKind.ARGUMENT and group.words[0].endswith(INVENTORY_SUFFIXES):
                return group
        return None

    def _line(self, own: Sequence[str], arguments: Sequence[str]) -> str | None:
        """Return the line with `own` before and `arguments` after `--`. Return None if it cannot be parsed."""
        if not self._can_parse(own):
            return None
        behind = [*arguments, *self._rest]
        return shlex.join(["hvdocker", self._verb, *own, *(["--", *behind] if behind else [])])

    def _can_parse(self, own: Sequence[str]) -> bool:
        from hvdocker.placement.slot_flags import SlotFlags, check_slot_flags

        try:
            ctx = self.ctx.command.make_context(self._verb, list(own), parent=self.ctx.parent)
            script = ctx.params["script"]
            others, _ = split_passed_flags([*([script] if script else []), *ctx.args])
            slots = (ctx.params[name] for name in ("np", "place", "strategy", "gpu", "include", "exclude"))
            check_slot_flags(SlotFlags(*slots))
        except (ParserError, HvdockerError):
            return False
        return not others or (len(others) == 1 and not others[0].startswith("-"))


def _is_own(group: WordGroup) -> bool:
    return group.kind in (WordKind.FLAG, WordKind.INVENTORY)


def _has_module(groups: Sequence[WordGroup]) -> bool:
    return any(group.name == "-m" for group in groups)


def _is_script(group: WordGroup) -> bool:
    return group.kind is WordKind.ARGUMENT and group.words[0].endswith(".py")


def _script_of(groups: Sequence[WordGroup]) -> WordGroup | None:
    """Return the argument that is probably the script: one that cannot be the value of an unknown flag, and rather one
    that ends with .py."""
    before = [None, *groups]
    arguments = [group for group in groups if group.kind is WordKind.ARGUMENT]
    free = [group for one, group in zip(before, groups, strict=False) if group in arguments and not _is_unknown(one)]
    return next((group for group in [*filter(_is_script, free), *free, *filter(_is_script, arguments)]), None)


def _is_unknown(group: WordGroup | None) -> bool:
    return group is not None and group.kind is WordKind.UNKNOWN and group.value is None
