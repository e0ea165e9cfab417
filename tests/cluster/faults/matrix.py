"""Reads the rows of docs/faults.md, and formats the outcomes of a run as a table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "faults.md"
# The id of a row is the name of its test without `test_`.
ROW = re.compile(r"^\| `(?P<id>\w+)` \|(?P<cells>.*)\|$", re.MULTILINE)


@dataclass(frozen=True)
class FaultRow:
    """One fault of docs/faults.md."""

    id: str
    fault: str
    promise: str
    seen: str
    measured: str


@dataclass(frozen=True)
class Outcome:
    """`seconds` is the measured reaction time; None if the trial did not get that far."""

    is_ok: bool
    seconds: float | None = None

    def worst_of(self, other: "Outcome") -> "Outcome":
        """Return the worse of two outcomes, for a fault that is tried in several ways."""
        measured = [seconds for seconds in (self.seconds, other.seconds) if seconds is not None]
        return Outcome(self.is_ok and other.is_ok, max(measured, default=None))


def fault_rows(text: str | None = None) -> dict[str, FaultRow]:
    """Return every fault of the page by its id; raise ValueError for a malformed or repeated row."""
    found: dict[str, FaultRow] = {}
    for match in ROW.finditer(PAGE.read_text(encoding="utf-8") if text is None else text):
        cells = [cell.strip() for cell in match["cells"].split("|")]
        if match["id"] in found or len(cells) != 4:
            raise ValueError(f"docs/faults.md: the row {match['id']} stands twice, or has not five cells")
        found[match["id"]] = FaultRow(match["id"], *cells)
    return found


def outcome_table(known: Mapping[str, FaultRow], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the lines of a table with one row per fault that was tried, in the order of the page."""
    cells = [("fault", "what is promised", "reaction", "")]
    for row in known.values():
        if outcome := outcomes.get(row.id):
            took = f"{outcome.seconds:.1f} s" if outcome.seconds is not None else "–"
            cells.append((row.fault, row.promise, took, "ok" if outcome.is_ok else "FAILED"))
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells]
    return ["  ".join(line).rstrip() for line in padded]
