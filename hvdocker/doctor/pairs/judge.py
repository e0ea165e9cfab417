"""Turns the results of all pairs into one report per pair and direction. Pure."""

from __future__ import annotations

from hvdocker.doctor.pairs.mtu_and_speed import judge_mtu, judge_round_trip, judge_speed
from hvdocker.doctor.pairs.pair_results import Pair, PairResults, SkipReason
from hvdocker.doctor.pairs.reachability import judge_ports, judge_ssh
from hvdocker.doctor.report import Finding, Mark, PairReport

CHECKS = ("ssh", "ports", "mtu", "rtt")


def judge_pairs(survey: PairResults) -> tuple[PairReport, ...]:
    ssh, ports = judge_ssh(survey), judge_ports(survey)
    return tuple(_report(survey, pair, ssh.get(pair), ports.get(pair)) for pair in survey.pairs)


def _report(survey: PairResults, pair: Pair, ssh: Finding | None, ports: Finding | None) -> PairReport:
    answer = survey.answers.get(pair)
    if answer is None or ssh is None or ports is None:
        return PairReport(*pair, _unknown(survey, pair))
    findings = [ssh, ports, judge_mtu(survey, pair, answer), judge_round_trip(survey, pair, answer)]
    if survey.speeds is None:
        return PairReport(*pair, tuple(findings))
    findings.append(judge_speed(survey, pair))
    speed = survey.speeds.get(pair)
    measured = speed.gbit_s * 1e9 if speed and speed.gbit_s is not None else None
    return PairReport(*pair, tuple(findings), measured)


def _unknown(survey: PairResults, pair: Pair) -> tuple[Finding, ...]:
    """Return UNKNOWN findings for a pair without results. If both hosts were skipped, the reason of the
    second is used, so that all pairs to one host show the same text."""
    nothing = SkipReason("?", ("it was not tried",))
    why = survey.skipped.get(pair[1]) or survey.skipped.get(pair[0]) or nothing
    checks = (*CHECKS, "bandwidth") if survey.speeds is not None else CHECKS
    return tuple(Finding(check, Mark.UNKNOWN, why.shown, why.evidence, fix=why.fix) for check in checks)
