"""A fake engine with time-stamped container logs that are filtered by whole seconds, like real ones."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pytest

from tests.unit.fakes import FakeEngine, FakeLink

# The time of second 0 of every log.
LOG_START = datetime(2024, 5, 4, 3, tzinfo=timezone.utc).timestamp()


@dataclass
class LogEngine(FakeEngine):
    """`log` has pieces with their seconds; `asked` records the arguments of each `logs` call.

    `ends_early` has numbers of pieces after which the first streams end, as they do when an engine
    restarts."""

    log: list[tuple[float, bytes]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    ends_early: list[int] = field(default_factory=list)
    is_running: bool = False
    exit_code: int = 0

    def logs(self, container: str, *, stream: bool, follow: bool, **how: Any) -> Iterator[bytes]:
        self.asked.append({"follow": follow, **how})
        tail, since = how.get("tail", "all"), how.get("since")
        kept = self.log if tail == "all" else self.log[len(self.log) - min(tail, len(self.log)) :]
        kept = [piece for piece in kept if since is None or LOG_START + piece[0] >= since]
        if follow and self.ends_early:
            kept = kept[: self.ends_early.pop(0)]
        elif follow:
            self.is_running = False
        for when, data in kept:
            stamp = f"2024-05-04T03:{int(when) // 60:02}:{int(when) % 60:02}.123456789Z ".encode()
            yield stamp + data if how.get("timestamps") else data

    def inspect_container(self, container: str) -> dict[str, Any]:
        return {"State": {"Running": self.is_running, "ExitCode": self.exit_code}, "Config": {}}


@dataclass
class LogLink(FakeLink):
    logged: LogEngine = field(default_factory=LogEngine)

    def engine(self) -> LogEngine:
        return self.logged


@pytest.fixture
def link() -> LogLink:
    return LogLink("a")
