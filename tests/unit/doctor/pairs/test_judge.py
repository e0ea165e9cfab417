"""What the doctor makes of the answers between hosts."""

from dataclasses import replace
from typing import Any

import pytest

from hvdocker.doctor.pairs.commands import Listener, MtuFound, PairAnswer, Problem, Speed, SshCheck
from hvdocker.doctor.pairs.judge import judge_pairs
from hvdocker.doctor.pairs.pair_results import Pair, PairResults, SkipReason
from hvdocker.doctor.report import Finding, Mark, PairReport
from tests.unit.builders import ADDRESSES

PORTS = (41001, 42002, 43003)
FINE = PairAnswer(None, dict.fromkeys(PORTS), MtuFound(1500, 1500, 1500), round_trip_s=0.0002)
TIMED_OUT = Problem("timeout", "timed out after 3 s")
REFUSED = Problem("refused", "Connection refused")
NO_ROUTE = Problem("unreachable", "No route to host")


def post(name: str, mtu: int = 1500) -> Listener:
    return Listener(name, ADDRESSES[name], "token", PORTS, 44004, "eth0", mtu)


def survey(changed: dict[Pair, PairAnswer] | None = None, hosts: str = "abc", **changes: Any) -> PairResults:
    """All is well but for what is changed. Any: fields of Survey."""
    answers = {(start, end): FINE for start in hosts for end in hosts if start != end}
    given: dict[str, Any] = {
        "listeners": {name: post(name) for name in hosts},
        "answers": {**answers, **(changed or {})},
        "ssh_checks": dict.fromkeys(hosts, SshCheck.LOGIN),
    }
    return PairResults(tuple(hosts), 12345, **{**given, **changes})


def blocked(problem: Problem, *ports: int) -> PairAnswer:
    return replace(FINE, ports={port: problem if port in (ports or PORTS) else None for port in PORTS})


def mtu_fix(host: str, mtu: int) -> str:
    return f"on {host}: sudo ip link set dev eth0 mtu {mtu}"


def found(seen: PairResults) -> dict[tuple[str, str, str], Finding]:
    """What is not good."""
    return {
        (report.start, report.end, finding.check): finding
        for report in judge_pairs(seen)
        for finding in report.findings
        if finding.mark is not Mark.GOOD
    }


def test_two_healthy_hosts() -> None:
    fine = (
        Finding("ssh", Mark.GOOD, "login"),
        Finding("ports", Mark.GOOD, "open"),
        Finding("mtu", Mark.GOOD, "1500"),
        Finding("rtt", Mark.GOOD, "0.2 ms"),
    )
    assert judge_pairs(survey(hosts="ab")) == (PairReport("a", "b", fine), PairReport("b", "a", fine))


def test_one_way_of_one_pair_is_dropped() -> None:
    assert found(survey({("a", "b"): blocked(TIMED_OUT)})) == {
        ("a", "b", "ports"): Finding(
            "ports",
            Mark.BAD,
            "filtered",
            (
                "a → b 10.0.0.12:41001: timed out after 3 s",
                "a → b 10.0.0.12:42002: timed out after 3 s",
                "a → b 10.0.0.12:43003: timed out after 3 s",
                "the other way works: b → a; b drops what a sends, or a does not let it out "
                "(then on a: sudo iptables -I OUTPUT -p tcp -d 10.0.0.12 -j ACCEPT)",
            ),
            fix="on b: sudo iptables -I INPUT -p tcp -s 10.0.0.11 -j ACCEPT",
        )
    }


def test_some_ports_of_a_pair() -> None:
    finding = found(survey({("a", "b"): blocked(REFUSED, 42002)}))["a", "b", "ports"]
    assert finding.shown == "1/3 rejected"
    assert finding.evidence[:2] == (
        "a → b 10.0.0.12:42002: Connection refused, though it is open there: a firewall rejects it",
        "41001, 43003 of its ports work: some ports are blocked, not all",
    )


def test_both_ways_of_a_pair_say_nothing_of_the_other_way() -> None:
    seen = found(survey({("a", "b"): blocked(TIMED_OUT), ("b", "a"): blocked(TIMED_OUT)}))
    assert set(seen) == {("a", "b", "ports"), ("b", "a", "ports")}
    assert not any("other way" in line for finding in seen.values() for line in finding.evidence)


@pytest.mark.parametrize(
    ("problem", "is_one_way", "fix"),
    [
        (NO_ROUTE, True, "on b: sudo firewall-cmd --zone=trusted --add-source=10.0.0.11"),
        (NO_ROUTE, False, "find out where it ends, on a: ip route get 10.0.0.12"),
        (
            Problem("own", "Operation not permitted"),
            True,
            "on a: sudo iptables -I OUTPUT -p tcp -d 10.0.0.12 -j ACCEPT",
        ),
    ],
)
def test_the_way_out_follows_the_kernels_words(problem: Problem, is_one_way: bool, fix: str) -> None:
    back = {} if is_one_way else {("b", "a"): blocked(problem)}
    assert found(survey({("a", "b"): blocked(problem), **back}))["a", "b", "ports"].fix == fix


def test_a_host_that_lets_nobody_in_is_told_in_equal_words() -> None:
    seen = found(survey({("a", "c"): blocked(TIMED_OUT), ("b", "c"): blocked(TIMED_OUT)}))
    assert seen == dict.fromkeys(
        (("a", "c", "ports"), ("b", "c", "ports")),
        Finding(
            "ports",
            Mark.BAD,
            "filtered",
            (
                "no host gets through to c",
                "a → c 10.0.0.13:41001: timed out after 3 s",
                "b → c 10.0.0.13:41001: timed out after 3 s",
            ),
            fix="on c: sudo iptables -I INPUT -p tcp -s 10.0.0.11,10.0.0.12 -j ACCEPT",
        ),
    )


def test_a_host_that_gets_out_to_nobody_is_to_blame_itself() -> None:
    seen = found(survey({("a", "b"): blocked(TIMED_OUT), ("a", "c"): blocked(TIMED_OUT)}))
    assert seen["a", "b", "ports"] == seen["a", "c", "ports"]
    assert seen["a", "b", "ports"].evidence[0] == "a gets through to no host, others do"
    assert seen["a", "b", "ports"].fix == ("on a: sudo iptables -I OUTPUT -p tcp -d 10.0.0.12,10.0.0.13 -j ACCEPT")


def test_the_worker_port_alone() -> None:
    seen = found(survey({("a", "b"): replace(FINE, ssh=TIMED_OUT)}))
    assert set(seen) == {("a", "b", "ssh")}
    assert seen["a", "b", "ssh"].evidence[0] == "a → b 10.0.0.12:12345: timed out after 3 s"
    assert seen["a", "b", "ssh"].fix == ("on b: sudo iptables -I INPUT -p tcp -s 10.0.0.11 --dport 12345 -j ACCEPT")


def test_a_login_that_fails_is_no_firewall() -> None:
    denied = Problem("login", "one\nhvd@10.0.0.12: Permission denied (publickey).")
    seen = found(survey({("a", "b"): replace(FINE, ssh=denied)}))["a", "b", "ssh"]
    assert (seen.mark, seen.shown) == (Mark.BAD, "no login")
    assert seen.evidence[1] == "a → b 10.0.0.12:12345: hvd@10.0.0.12: Permission denied (publickey)."
    assert seen.fix is not None and "`network:`" in seen.fix
    stranger = Problem("stranger", "no SSH server there: it said b'HTTP'")
    assert found(survey({("a", "b"): replace(FINE, ssh=stranger)}))["a", "b", "ssh"].shown == "stranger"


def test_a_worker_greets_and_a_stranger_is_not_asked() -> None:
    ways = {"a": SshCheck.LOGIN, "b": SshCheck.GREETING, "c": SshCheck.HELD}
    seen = survey(ssh_checks=ways)
    shown = {
        (report.start, report.end): (report.findings[0].mark, report.findings[0].shown) for report in judge_pairs(seen)
    }
    assert shown["b", "a"] == (Mark.GOOD, "login")
    assert shown["a", "b"] == (Mark.GOOD, "greets")
    assert shown["a", "c"] == (Mark.UNKNOWN, "held")


@pytest.mark.parametrize(
    ("mtu", "end", "mark", "shown", "fix"),
    [
        (MtuFound(1500, 1400, 1400), 1500, Mark.WARN, "1400 of 1500", mtu_fix("a", 1400)),
        (MtuFound(1500, 1300, 1500), 1500, Mark.BAD, "1300 of 1500", mtu_fix("a", 1300)),
        # A router told of 1400, and yet packets of that size vanish.
        (MtuFound(1500, 1300, 1400), 1500, Mark.BAD, "1300 of 1500", mtu_fix("a", 1300)),
        (MtuFound(1500, 1200, 1500), 1200, Mark.BAD, "1200 of 1500", mtu_fix("b", 1500)),
        (MtuFound(9000, 1500, 9000), 1500, Mark.BAD, "1500 of 9000", mtu_fix("a", 1500)),
        (MtuFound(1500, error="no answer within 3 s"), 1500, Mark.UNKNOWN, "no UDP", None),
        (
            MtuFound(
                1500, error="no answer within 3 s", bulk_error="262144 bytes over TCP: timed out after 3 s"
            ),
            1500,
            Mark.BAD,
            "stalls",
            mtu_fix("a", 1400),
        ),
    ],
)  # fmt: skip
def test_packet_sizes(mtu: MtuFound, end: int, mark: Mark, shown: str, fix: str | None) -> None:
    posts = {"a": post("a", mtu.link), "b": post("b", end), "c": post("c")}
    seen = found(survey({("a", "b"): replace(FINE, mtu=mtu)}, listeners=posts))
    assert {cell: (finding.mark, finding.shown, finding.fix) for cell, finding in seen.items()} == {
        ("a", "b", "mtu"): (mark, shown, fix)
    }
    assert seen["a", "b", "mtu"].evidence[0].startswith("a → b 10.0.0.12: ")
    if mtu.link == 9000:
        assert "jumbo frames do not pass" in seen["a", "b", "mtu"].evidence


def test_the_loopbacks_size_is_more_than_a_packet_can_have() -> None:
    assert found(survey({("a", "b"): replace(FINE, mtu=MtuFound(65536, 65535, 65535))})) == {}


def test_long_trips_hurt_and_untimed_ones_are_unknown() -> None:
    seen = found(survey({("a", "b"): replace(FINE, round_trip_s=0.04), ("b", "a"): replace(FINE, round_trip_s=None)}))
    assert (seen["a", "b", "rtt"].mark, seen["a", "b", "rtt"].shown) == (Mark.WARN, "40 ms")
    assert seen["b", "a", "rtt"].mark is Mark.UNKNOWN


def test_a_link_far_below_the_others() -> None:
    speeds = dict.fromkeys(survey().pairs, Speed(9.4))
    seen = survey(speeds={**speeds, ("a", "b"): Speed(0.094), ("b", "a"): Speed(None, "timed out")})
    shown = {
        (report.start, report.end): (report.findings[-1].mark, report.findings[-1].shown)
        for report in judge_pairs(seen)
    }
    assert shown["a", "b"] == (Mark.WARN, "0.094 Gbit/s")
    assert shown["b", "a"] == (Mark.UNKNOWN, "?")
    assert {shown[pair] for pair in shown if pair not in (("a", "b"), ("b", "a"))} == {(Mark.GOOD, "9.4 Gbit/s")}
    assert found(seen)["a", "b", "bandwidth"].evidence == (
        "a → b 10.0.0.12: 0.094 Gbit/s; the others' median is 9.4 Gbit/s",
    )


def test_two_hosts_alone_have_nothing_to_compare_with() -> None:
    speeds = {("a", "b"): Speed(0.1), ("b", "a"): Speed(20.4)}
    told = {report.start: report.bits_per_s for report in judge_pairs(survey(hosts="ab", speeds=speeds))}
    assert told == {"a": 1e8, "b": 20.4e9}
    assert found(survey(hosts="ab", speeds=speeds)) == {}


def test_an_absent_host_is_grey_in_every_cell() -> None:
    why = SkipReason("no image", ("c has no image doc-hvd:cpu",), "hvdocker image push")
    here = {("a", "b"): FINE, ("b", "a"): FINE}
    seen = found(survey(answers=here, listeners={"a": post("a"), "b": post("b")}, skipped={"c": why}))
    assert set(seen) == {
        (*pair, check)
        for pair in (("a", "c"), ("c", "a"), ("b", "c"), ("c", "b"))
        for check in ("ssh", "ports", "mtu", "rtt")
    }
    assert {(one.mark, one.shown, one.evidence, one.fix) for one in seen.values()} == {
        (Mark.UNKNOWN, "no image", ("c has no image doc-hvd:cpu",), "hvdocker image push")
    }
