"""Log rules (`rules:` of the inventory): regular expressions over the lines of ranks. A match drops the
rank's host, or prevents a restart."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from hvdocker.protocol.record import RuleMatch
from hvdocker.protocol.resilience import Rule
from inside.runtime.say import say

MAX_SHOWN_CHARS = 500


@dataclass(frozen=True)
class MatchedLine:
    """An output line of a rank that matched a log rule. `rule` is that rule. `host` is the host of the rank, None if
    it is not known."""

    rule: Rule
    rank: int
    host: str | None
    line: str

    def for_record(self) -> RuleMatch:
        return RuleMatch(self.rule.pattern, self.line[:MAX_SHOWN_CHARS], self.rank, self.host or "?")

    def __str__(self) -> str:
        where = f" on {self.host}" if self.host else ""
        return f"rank {self.rank}{where} said {self.line[:MAX_SHOWN_CHARS]!r} (rule {self.rule.pattern!r})"


class RuleMatcher:
    """Applies the log rules of a job. `dropped` has the match that dropped each host, `stopped_by` the first match
    that forbids restarts (None if there is none). The head is never dropped. `drop` is called with the name of a host
    that the job stops using at once. `drop` is None for a job that is not elastic, because such a job leaves a host
    out only at its next restart."""

    def __init__(self, rules: Iterable[Rule], head: str, drop: Callable[[str], None] | None) -> None:
        self.dropped: dict[str, MatchedLine] = {}
        self.stopped_by: MatchedLine | None = None
        self._book = CompiledRules(rules)
        self._head = head
        self._drop = drop
        self._said_not_dropped: set[tuple[str, str | None]] = set()

    def left_out(self, hosts: Collection[str]) -> tuple[MatchedLine, ...]:
        """Return the matches that dropped a host, for all dropped hosts that are not in `hosts`. They explain why these
        hosts are missing from a run of the launcher on `hosts`."""
        return tuple(match for host, match in self.dropped.items() if host not in hosts)

    def match_line(self, rank: int, line: str, host_of: Callable[[int], str | None]) -> bool:
        """Apply the rules to `line`, which the rank wrote. Return whether this dropped a host or forbade restarts.
        `host_of` returns the host of a rank, None if it is not known."""
        before = (len(self.dropped), self.stopped_by)
        for rule in self._book.matches(line):
            match = MatchedLine(rule, rank, host_of(rank), line)
            if rule.then == "stop":
                self._stop(match)
            else:
                self._take_out(match)
        return before != (len(self.dropped), self.stopped_by)

    def _stop(self, match: MatchedLine) -> None:
        if self.stopped_by is None:
            self.stopped_by = match
            say(f"{match}: should this run fail, the job is not run again")

    def _take_out(self, match: MatchedLine) -> None:
        host = match.host
        if host is None or host == self._head:
            self._say_not_dropped(match)
        elif host not in self.dropped:
            self.dropped[host] = match
            self._say_dropped(host, match)

    def _say_dropped(self, host: str, match: MatchedLine) -> None:
        if self._drop is None:
            say(f"{match}: {host} is left out should the job be run again")
            return
        say(f"{match}: {host} is dropped from the job")
        self._drop(host)

    def _say_not_dropped(self, match: MatchedLine) -> None:
        """Tell the user why a match does not drop a host: the host is the head, or is not known. The message is written
        once for each rule and host."""
        case = (match.rule.pattern, match.host)
        if case in self._said_not_dropped:
            return
        self._said_not_dropped.add(case)
        why = "the head cannot be dropped" if match.host else "it cannot be told on which host that is"
        say(f"{match}: {why}, the job goes on")


class CompiledRules:
    """The log rules of a job with their compiled patterns. Rules that do not compile are left out."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = [(rule, pattern) for rule in rules if (pattern := compile_rule(rule))]

    def matches(self, line: str) -> Iterator[Rule]:
        """Yield the rules that match a line of a rank."""
        for rule, pattern in self._rules:
            if pattern.search(line):
                yield rule


def compile_rule(rule: Rule) -> "re.Pattern[str] | None":
    """Return the compiled pattern of a log rule. The controller has already checked the pattern; if it still
    does not compile here, tell the user and return None."""
    try:
        return re.compile(rule.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        say(f"the rule {rule.pattern!r} is not understood and is left out: {error}")
        return None
