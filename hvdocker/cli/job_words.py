"""Handles the words of `train` and `run` that are no options of hvdocker: the script, flags of the launcher, and
mistakes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hvdocker.cli.synonyms import meant_flag
from hvdocker.cli.verb_command import INVENTORY_SUFFIXES, TYPED
from hvdocker.errors import UsageProblem
from hvdocker.launchers.passed_flags import PASSED_FLAGS, split_passed_flags

_AFTER_DASHES = "the script's own arguments go after --"
_RANKS = re.compile(r"-np?=?([0-9]+)")


def script_and_flags(ctx: Any, script: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the script (None if there is none), and the flags for the launcher.

    `script` is the first word that typer did not recognise as an option. `ctx` is typer's context; it has the other
    such words. Raise UsageProblem if one of the words is neither the script nor a flag of the launcher. Its fix
    suggests a corrected command line."""
    others, passed = split_passed_flags([*([script] if script else []), *ctx.args])
    if not others:
        return None, passed
    if len(others) == 1 and not others[0].startswith("-"):
        return others[0], passed
    known = [flag for param in ctx.command.params for flag in param.opts]
    typed = JobLine(ctx.info_name, ctx.meta[TYPED], others, ctx.obj.rest or ())
    raise typed.problem([*known, *PASSED_FLAGS])


@dataclass(frozen=True)
class JobLine:
    """A command line of `train` or `run` (`verb`) with a mistake.

    `typed` are its words up to `--`, and `rest` the words after `--`. `others` are those words of `typed` that hvdocker
    does not know, in the same order. The script is among them."""

    verb: str
    typed: Sequence[str]
    others: Sequence[str]
    rest: Sequence[str]

    def problem(self, known: Collection[str]) -> UsageProblem:
        """Return the error for this command line. `known` are the flags of the verb and of launchers."""
        if self.others[0] in ("python", "python3") and len(self.others) > 1:
            return self._python()
        flag = next((word for word in self.others if word.startswith("-")), None)
        if flag is None:
            return self._second_script()
        name, equals, value = flag.partition("=")
        what = f"there is no flag {name}"
        if self.verb == "run" and name in ("-d", "--detach"):
            why = "`run` waits for the end of the job, to give the hosts back"
            return UsageProblem(f"{what}: {why}", fix="start a cluster that stays: hvdocker up, then hvdocker train -d")
        if ranks := _RANKS.fullmatch(flag):
            return UsageProblem(what, fix=f"the number of ranks is -np: {self._replaced(flag, '-np', ranks[1])}")
        if meant := meant_flag(name, known):
            better = self._replaced(flag, meant, *([value] if equals else []))
            return UsageProblem(what, fix=f"did you mean {meant}? {better}; {_AFTER_DASHES}")
        return UsageProblem(what, fix=f"{_AFTER_DASHES}: {self._moved()}")

    def _second_script(self) -> UsageProblem:
        what = f"what is {self.others[1]!r}?"
        if inventory := next((word for word in self.others if word.endswith(INVENTORY_SUFFIXES)), None):
            words = [inventory, *_without(self.typed, [inventory])]
            return UsageProblem(what, fix=f"the inventory comes first: {self._line(words)}")
        return UsageProblem(what, fix=f"{_AFTER_DASHES}: {self._moved()}")

    def _python(self) -> UsageProblem:
        """Return the error for a line such as `train python train.py --epochs 3`: `python` is not needed."""
        python, script, *arguments = self.others
        words = _without(self.typed, [python, *arguments])
        return UsageProblem(
            f"what is {script!r}?", fix=f"hvdocker calls {python} itself: {self._line(words, arguments)}"
        )

    def _replaced(self, flag: str, *better: str) -> str:
        if flag not in self.typed:
            # The flag was typed together with a known flag, as in `-qn`.
            return self._line(self.typed)
        at = self.typed.index(flag)
        return self._line([*self.typed[:at], *better, *self.typed[at + 1 :]])

    def _moved(self) -> str:
        """Return the corrected command line, in which the unknown words except the script stand after `--`."""
        plain = [word for word in self.others if not word.startswith("-")]
        is_module = "-m" in self.typed
        script = None if is_module else next((word for word in plain if word.endswith(".py")), None)
        if script is None and not is_module and self.others[0] in plain:
            script = self.others[0]
        moved = _without(self.others, [script] if script else [])
        return self._line(_without(self.typed, moved), moved)

    def _line(self, words: Sequence[str], arguments: Sequence[str] = ()) -> str:
        behind = [*arguments, *self.rest]
        return shlex.join(["hvdocker", self.verb, *words, *(["--", *behind] if behind else [])])


def _without(words: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return `words` without the words in `removed`.

    The order of `removed` must be that of `words`. Each word in `removed` is removed once."""
    left, queue = [], list(removed)
    for word in words:
        if queue and word == queue[0]:
            queue.pop(0)
        else:
            left.append(word)
    return left
