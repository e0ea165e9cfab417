"""Parse the value of `--since`: a point in time, or a duration before now by the clock of the host with the log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hvdocker.errors import UsageProblem

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|min|m|h|d)")


@dataclass(frozen=True)
class Since:
    """The time from which `logs` shows lines. Exactly one field is set: `ago_s` is a duration before now in
    seconds, `at` is a Unix time."""

    ago_s: float | None = None
    at: float | None = None

    def on(self, link: HostLink) -> float:
        """Return the time as a Unix time by the clock of the host of `link`. That host's engine stamps the lines of the
        log, and the clock of the controller may differ. If the host's clock cannot be read, a duration becomes the Unix
        time 1, so that no line is left out."""
        if self.at is not None:
            return self.at
        from hvdocker.observe.clock import clock, read_clock

        # An engine accepts no time before 1970.
        return max(1.0, (read_clock(link.run(clock()).text) or 0.0) - (self.ago_s or 0.0))


def parse_since(text: str) -> Since:
    """Parse a duration such as `90s`, `10m`, `1.5h`, `1h30m` or `2d`, or an ISO date or time such as 2026-05-04T12:30
    (local time unless it has a zone).

    Raises UsageProblem for other text."""
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return Since(ago_s=sum(float(number) * _UNITS[unit] for number, unit in parts))
    try:
        at = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", text)).timestamp()
    except (ValueError, OverflowError, OSError):
        at = 0.0
    if at <= 0:
        raise UsageProblem(
            f"--since should be a duration or a time, got {text!r}", fix="as in 90s, 10m, 1h30m or 2026-05-04T12:30"
        )
    return Since(at=at)
