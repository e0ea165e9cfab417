"""Judges the reachability of every pair: whether the worker port and the random ports work, and which host blocks them.
Pure.

If one host causes the problem, all its pairs show the same text, so that the report can print it once."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hvdocker.doctor.pairs.commands import Problem, SshCheck
from hvdocker.doctor.pairs.pair_results import Pair, PairResults
from hvdocker.doctor.report import Finding, Mark

_SHOWN = {"timeout": "filtered", "silent": "filtered", "refused": "rejected", "own": "forbidden",
          "unreachable": "no route", "stranger": "stranger"}  # fmt: skip
# The kinds that a firewall causes; a failed login or an answer from another program is not among them.
_BLOCKED = ("timeout", "silent", "refused", "own", "unreachable", "other")


@dataclass(frozen=True)
class _Failure:
    """Why one host could not connect to another.

    `kind` is a word such as `timeout` or `refused` (Problem lists all). `lines` are the evidence, and `shown` is the
    short text of the finding."""

    kind: str
    lines: tuple[str, ...]
    shown: str


@dataclass(frozen=True)
class _PortCheck:
    """One kind of check: of the worker port, or of the random ports (`port` is None).

    `check` is the name of the check in findings. `good_text` is shown if the connection works."""

    check: str
    port: int | None
    good_text: str


def judge_ssh(results: PairResults) -> dict[Pair, Finding]:
    """Judge the worker port of every pair that was checked.

    The finding says whether the port works, is held by another program, refuses the login, or is blocked."""
    found: dict[Pair, Finding] = {}
    troubles: dict[Pair, _Failure | None] = {}
    for pair, answer in results.answers.items():
        way = results.ssh_checks[pair[1]]
        if way is SshCheck.HELD:
            found[pair] = _port_held(results, pair)
        elif answer.ssh is not None and answer.ssh.kind not in _BLOCKED:
            found[pair] = _no_login(results, pair, answer.ssh)
        else:
            troubles[pair] = _ssh_failure(results, pair, answer.ssh)
    blamed = _judge_pairs(results, _PortCheck("ssh", results.port, "login"), troubles)
    greeted = {
        pair: Finding("ssh", Mark.GOOD, "greets", (f"{results.named(pair, results.port)}: its worker greets",))
        for pair, finding in blamed.items()
        if finding.mark is Mark.GOOD and results.ssh_checks[pair[1]] is SshCheck.GREETING
    }
    return {**found, **blamed, **greeted}


def judge_ports(results: PairResults) -> dict[Pair, Finding]:
    """Judge the random TCP ports of every pair that was checked. Training opens such ports for its own connections."""
    troubles = {pair: _port_failure(results, pair, answer.ports) for pair, answer in results.answers.items()}
    return _judge_pairs(results, _PortCheck("ports", None, "open"), troubles)


def _ssh_failure(results: PairResults, pair: Pair, problem: Problem | None) -> _Failure | None:
    if problem is None:
        return None
    line = f"{results.named(pair, results.port)}: {_explain(problem)}"
    return _Failure(problem.kind, (line,), _SHOWN.get(problem.kind, "failed"))


def _port_failure(results: PairResults, pair: Pair, ports: Mapping[int, Problem | None]) -> _Failure | None:
    failed = {port: problem for port, problem in ports.items() if problem}
    if not failed:
        return None
    lines = [f"{results.named(pair, port)}: {_explain(problem)}" for port, problem in failed.items()]
    works = [str(port) for port in ports if port not in failed]
    if works:
        lines.append(f"{', '.join(works)} of its ports work: some ports are blocked, not all")
    kinds = {problem.kind for problem in failed.values()}
    kind = kinds.pop() if len(kinds) == 1 else "other"
    shown = _SHOWN.get(kind, "failed")
    return _Failure(kind, tuple(lines), f"{len(failed)}/{len(ports)} {shown}" if works else shown)


def _explain(problem: Problem) -> str:
    """Return the text of the problem, with a remark if a firewall is the cause.

    A refused connection means a firewall, because the listener on that port is known to be running."""
    if problem.kind == "refused":
        return f"{problem.words}, though it is open there: a firewall rejects it"
    if problem.kind == "own":
        return f"{problem.words}: the sender's own firewall forbids it"
    return problem.words


def _judge_pairs(
    results: PairResults, port_check: _PortCheck, troubles: Mapping[Pair, _Failure | None]
) -> dict[Pair, Finding]:
    """Return a finding for each pair, which says where the connection is blocked.

    `port_check` is the kind of port that was tried. `troubles` has, by pair, the failure, or None for a pair that
    works. A pair that works gets a GOOD finding. In a pair (start, end) that fails, the end is blamed if at least two
    hosts tried to reach it and all failed. Otherwise the start is blamed if it tried at least two hosts and all
    attempts failed. Otherwise the connection between the two is blamed."""
    found: dict[Pair, Finding] = {}
    for pair, trouble in troubles.items():
        start, end = pair
        into = {other: troubles[other] for other in troubles if other[1] == end}
        out_of = {other: troubles[other] for other in troubles if other[0] == start}
        if trouble is None:
            found[pair] = Finding(port_check.check, Mark.GOOD, port_check.good_text)
        elif len(into) > 1 and all(into.values()):
            found[pair] = _blocked_into_host(results, port_check, end, into)
        elif len(out_of) > 1 and all(out_of.values()):
            found[pair] = _blocked_out_of_host(results, port_check, start, out_of)
        else:
            found[pair] = _blocked_pair(results, port_check, pair, trouble, troubles.get((end, start), trouble) is None)
    return found


def _blocked_into_host(
    results: PairResults, port_check: _PortCheck, end: str, into: Mapping[Pair, _Failure | None]
) -> Finding:
    told = [trouble for trouble in into.values() if trouble]
    sources = [results.listeners[start].address for start, _ in into]
    lines = ("no host gets through to " + end, *(trouble.lines[0] for trouble in told))
    return _bad(
        port_check, told[0].shown, lines, f"on {end}: {_iptables_accept('INPUT', '-s', sources, port_check.port)}"
    )


def _blocked_out_of_host(
    results: PairResults, port_check: _PortCheck, start: str, out_of: Mapping[Pair, _Failure | None]
) -> Finding:
    told = [trouble for trouble in out_of.values() if trouble]
    targets = [results.listeners[end].address for _, end in out_of]
    lines = (f"{start} gets through to no host, others do", *(trouble.lines[0] for trouble in told))
    return _bad(
        port_check, told[0].shown, lines, f"on {start}: {_iptables_accept('OUTPUT', '-d', targets, port_check.port)}"
    )


def _blocked_pair(
    results: PairResults, port_check: _PortCheck, pair: Pair, trouble: _Failure, does_reverse: bool
) -> Finding:
    start, end = pair
    lines = trouble.lines
    source, target = results.listeners[start].address, results.listeners[end].address
    if does_reverse:
        # A rule for outgoing packets on the start looks the same from there, and is rarer.
        let_out = _iptables_accept("OUTPUT", "-d", [target], port_check.port)
        lines = (
            *lines,
            f"the other way works: {end} → {start}; {end} drops what {start} sends, or {start} does not let it out "
            f"(then on {start}: {let_out})",
        )
    if trouble.kind == "own":
        fix = f"on {start}: {_iptables_accept('OUTPUT', '-d', [target], port_check.port)}"
    elif trouble.kind == "unreachable" and does_reverse:
        # firewalld rejects with "unreachable"; a missing route would stop the other direction too.
        fix = f"on {end}: sudo firewall-cmd --zone=trusted --add-source={shlex.quote(source)}"
    elif trouble.kind == "unreachable":
        fix = f"find out where it ends, on {start}: ip route get {shlex.quote(target)}"
    else:
        fix = f"on {end}: {_iptables_accept('INPUT', '-s', [source], port_check.port)}"
    return _bad(port_check, trouble.shown, lines, fix)


def _bad(port_check: _PortCheck, shown: str, lines: Iterable[str], fix: str) -> Finding:
    return Finding(port_check.check, Mark.BAD, shown, tuple(lines), fix=fix)


def _iptables_accept(chain: str, flag: str, addresses: Iterable[str], port: int | None) -> str:
    only = f" --dport {port}" if port else ""
    return f"sudo iptables -I {chain} -p tcp {flag} {shlex.quote(','.join(addresses))}{only} -j ACCEPT"


def _port_held(results: PairResults, pair: Pair) -> Finding:
    line = f"{results.named(pair, results.port)} is held by somebody else: see the port check of {pair[1]}"
    return Finding("ssh", Mark.UNKNOWN, "held", (line,))


def _no_login(results: PairResults, pair: Pair, problem: Problem) -> Finding:
    where = results.named(pair, results.port)
    lines = tuple(f"{where}: {line}" for line in problem.words.splitlines())
    if problem.kind == "stranger":
        return Finding(
            "ssh", Mark.BAD, "stranger", lines, fix=f"write another one into the inventory: `port: {results.port + 1}`"
        )
    fix = "give the hosts the `address:`es by which they see each other, or set `network:`"
    return Finding("ssh", Mark.BAD, "no login", lines, fix=fix)
