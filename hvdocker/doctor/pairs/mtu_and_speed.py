"""Judges the path between two hosts: its MTU, round trips and bandwidth. Pure.

The program inside/checks/path_mtu.py in the image measures the MTU."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from statistics import median

from hvdocker.doctor.pairs.commands import PairAnswer
from hvdocker.doctor.pairs.pair_results import Pair, PairResults
from hvdocker.doctor.report import Finding, Mark

SLOW_ROUND_TRIP_S = 0.005
# Below this fraction of the median bandwidth of the other pairs, a low value is not just noise.
SLOW_FRACTION = 1 / 3
ETHERNET_MTU = 1500
LARGEST_PACKET = 65535
# Packets of this size pass through the usual tunnels.
TUNNEL_MTU = 1400


def common_mtu(mtus: Iterable[int]) -> int:
    """Return the most frequent MTU. `mtus` has the MTU of each host.

    If several are equally frequent, return ETHERNET_MTU if it is among them, else the largest."""
    counts = Counter(mtus)
    return max(counts, key=lambda mtu: (counts[mtu], mtu == ETHERNET_MTU, mtu))


def set_mtu(host: str, interface: str, mtu: int) -> str:
    return f"on {host}: sudo ip link set dev {shlex.quote(interface)} mtu {mtu}"


def judge_mtu(results: PairResults, pair: Pair, answer: PairAnswer) -> Finding:
    """Judge whether packets as large as the sender's MTU arrive. `answer` is what the first host of the pair found.

    The finding is WARN if a router reports that such packets are too large, and BAD if they vanish without a report (a
    black hole). If the packet sizes could not be measured, return the finding of `_unknown_mtu`."""
    found = answer.mtu
    where = results.named(pair)
    if found.passed is None:
        return _unknown_mtu(results, pair, answer)
    full = min(found.link, LARGEST_PACKET)
    if found.passed >= full:
        return Finding("mtu", Mark.GOOD, str(found.link))
    start = results.listeners[pair[0]]
    shown = f"{found.passed} of {found.link}"
    if found.kernel_mtu is not None and found.kernel_mtu <= found.passed:
        line = f"{where}: a router says that packets above {found.passed} bytes are too large"
        mine = f"{start.host}'s {start.interface} sends up to {found.link}"
        fix = set_mtu(start.host, start.interface, found.passed)
        return Finding("mtu", Mark.WARN, shown, (line, mine), fix=fix)
    return _black_hole(results, pair, answer, shown)


def _black_hole(results: PairResults, pair: Pair, answer: PairAnswer, shown: str) -> Finding:
    """Return a BAD finding: packets leave the sender's interface but do not arrive, and no ICMP message says why.

    `answer` has the sizes that the first host of the pair measured. `shown` is the short text of the finding, such as
    `1400 of 1500`. The fix sets the MTU of one of the two hosts."""
    start, end = results.listeners[pair[0]], results.listeners[pair[1]]
    link, passed = answer.mtu.link, answer.mtu.passed or 0
    lines = [f"{results.named(pair)}: packets of {passed} bytes arrive, packets of {passed + 1} vanish unsaid"]
    if link > ETHERNET_MTU and passed <= ETHERNET_MTU:
        lines.append("jumbo frames do not pass")
    if end.mtu == link:
        lines.append(f"both ends have MTU {link}: something between them takes less")
        return Finding("mtu", Mark.BAD, shown, tuple(lines), fix=set_mtu(start.host, start.interface, passed))
    lines.append(f"{start.host}'s {start.interface} has MTU {link}, {end.host}'s {end.interface} {end.mtu}")
    usual = common_mtu(listener.mtu for listener in results.listeners.values())
    odd = start if end.mtu == usual else end
    return Finding("mtu", Mark.BAD, shown, tuple(lines), fix=set_mtu(odd.host, odd.interface, usual))


def _unknown_mtu(results: PairResults, pair: Pair, answer: PairAnswer) -> Finding:
    """Judge the MTU if the packet sizes are unknown, because the UDP check of `answer` gave no result.

    Blocked UDP itself is no fault, because training uses TCP. The finding is BAD if full TCP packets do not arrive
    either, otherwise UNKNOWN."""
    where, start = results.named(pair), results.listeners[pair[0]]
    line = f"{where}: UDP, by which sizes are found out: {answer.mtu.error}"
    if answer.mtu.bulk_error:
        why = f"a TCP connection opens, but full packets do not arrive: {answer.mtu.bulk_error}"
        mtu = ETHERNET_MTU if start.mtu > ETHERNET_MTU else TUNNEL_MTU
        fix = set_mtu(start.host, start.interface, mtu)
        return Finding("mtu", Mark.BAD, "stalls", (line, why), fix=fix)
    if any(problem is None for problem in answer.ports.values()):
        return Finding("mtu", Mark.UNKNOWN, "no UDP", (line, "TCP carries full packets, all the same"))
    return Finding("mtu", Mark.UNKNOWN, "?", (line,))


def judge_round_trip(results: PairResults, pair: Pair, answer: PairAnswer) -> Finding:
    """Judge the shortest round trip in `answer`, which the first host of the pair measured.

    The finding is WARN if the round trip is longer than SLOW_ROUND_TRIP_S, and UNKNOWN if none could be measured."""
    if answer.round_trip_s is None:
        return Finding("rtt", Mark.UNKNOWN, "?", (f"{results.named(pair)}: no open port to time it on",))
    shown = f"{answer.round_trip_s * 1000:.2g} ms"
    if answer.round_trip_s <= SLOW_ROUND_TRIP_S:
        return Finding("rtt", Mark.GOOD, shown)
    line = (
        f"{results.named(pair)}: the shortest round trip took {shown}; "
        f"above {SLOW_ROUND_TRIP_S * 1000:g} ms training waits for the network"
    )
    return Finding("rtt", Mark.WARN, shown, (line,), fix="train on hosts of one site, or set `network:`")


def judge_speed(results: PairResults, pair: Pair) -> Finding:
    """Judge the bandwidth of a pair. The finding is WARN if the bandwidth is far below the median of the other pairs.

    Pairs are compared with each other because the nominal speed of the network is not known. With fewer than two other
    measured pairs the finding is GOOD. It is UNKNOWN if the bandwidth was not measured."""
    speeds = results.speeds or {}
    own = speeds.get(pair)
    if own is None or own.gbit_s is None:
        why = own.error if own else "it was not measured"
        return Finding("bandwidth", Mark.UNKNOWN, "?", (f"{results.named(pair)}: {why}",))
    shown = f"{own.gbit_s:.2g} Gbit/s" if own.gbit_s < 10 else f"{own.gbit_s:.0f} Gbit/s"
    others = [one.gbit_s for other, one in speeds.items() if other != pair and one.gbit_s is not None]
    if len(others) < 2 or own.gbit_s >= median(others) * SLOW_FRACTION:
        return Finding("bandwidth", Mark.GOOD, shown)
    line = f"{results.named(pair)}: {shown}; the others' median is {median(others):.2g} Gbit/s"
    start = results.listeners[pair[0]]
    look = shlex.join(("ethtool", start.interface))
    return Finding(
        "bandwidth", Mark.WARN, shown, (line,),
        command=look,
        fix=f"look at cable, switch port and speed, on {start.host} and {pair[1]}: {look}",
    )  # fmt: skip
