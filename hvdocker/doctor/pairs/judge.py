"""Turns the results of all pairs into one report per pair and direction. Pure."""

from __future__ import annotations

from hvdocker.doctor.pairs.mtu_and_speed import judge_mtu, judge_round_trip, judge_speed
from hvdocker.doctor.pairs.pair_results import Pair, PairResults, SkipReason
from hvdocker.doctor.pairs.reachability import judge_ports, judge_ssh
from hvdocker.doctor.report import Finding, Mark, PairReport

CHECKS = ("ssh", "ports", "mtu", "rtt")


def judge_pairs(results: PairResults) -> tuple[PairReport, ...]:
    ssh, ports = judge_ssh(results), judge_ports(results)
    return tuple(_report(results, pair, ssh.get(pair), ports.get(pair)) for pair in results.pairs)


def _report(results: PairResults, pair: Pair, ssh: Finding | None, ports: Finding | None) -> PairReport:
    answer = results.answers.get(pair)
    if answer is None or ssh is None or ports is None:
        return PairReport(*pair, _unknown(results, pair))
    findings = [ssh, ports, judge_mtu(results, pair, answer), judge_round_trip(results, pair, answer)]
    if results.speeds is None:
        return PairReport(*pair, tuple(findings))
    findings.append(judge_speed(results, pair))
    speed = results.speeds.get(pair)
    measured = speed.gbit_s * 1e9 if speed and speed.gbit_s is not None else None
    return PairReport(*pair, tuple(findings), measured)


def _unknown(results: PairResults, pair: Pair) -> tuple[Finding, ...]:
    """Return the findings for a pair without results: an UNKNOWN finding per check, with the reason why a host was
    skipped.

    If both hosts were skipped, the reason of the second is used, so that all pairs to one host show the same text."""
    nothing = SkipReason("?", ("it was not tried",))
    why = results.skipped.get(pair[1]) or results.skipped.get(pair[0]) or nothing
    checks = (*CHECKS, "bandwidth") if results.speeds is not None else CHECKS
    return tuple(Finding(check, Mark.UNKNOWN, why.shown, why.evidence, fix=why.fix) for check in checks)
