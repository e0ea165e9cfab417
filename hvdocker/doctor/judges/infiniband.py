"""InfiniBand, where there is some."""

from __future__ import annotations

from hvdocker.doctor.facts.facts import MachineSeen
from hvdocker.doctor.judges.finding import good, warn
from hvdocker.doctor.report import Finding


def judge_fabric(machine: MachineSeen) -> Finding | None:
    if not machine.fabric:
        return None
    shown = ", ".join(
        f"{port.device}:{port.port} {port.state} {port.rate}".strip() for port in machine.fabric
    )
    down = [port for port in machine.fabric if not port.is_active]
    if len(down) == len(machine.fabric):
        evidence = [f"{port.device} port {port.port}: {port.state}" for port in down]
        fix = "check cable and subnet manager: sudo systemctl start opensm"
        return warn("infiniband", "no port is active", evidence, "ibstat", fix)
    return good("infiniband", shown)
