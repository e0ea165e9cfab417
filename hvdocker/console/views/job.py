"""Shows a job: every line of a rank begins with a coloured `rank@host`, and a summary comes at the end."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.console.output_screen import OutputScreen
from hvdocker.console.sanitize import sanitized, sanitized_with_colours
from hvdocker.console.style import RANK_COLOURS
from hvdocker.jobs.outcome import remarks
from hvdocker.protocol.output import Line
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import JobRecord
from hvdocker.units import pluralize, show_bytes, show_seconds


class JobView:
    """Shows the output lines of a job on a screen. The object is called with each line.

    A line of a rank is shown after a tag `rank@host`. If `placement` is given, all tags are padded to the width of the
    longest. The current states of progress bars are shown below the lines."""

    def __init__(self, screen: OutputScreen, placement: Placement | None = None) -> None:
        self._screen = screen
        ranks = placement.host_of_rank() if placement else ()
        self._width = max((len(f"{rank}@{host}") for rank, host in enumerate(ranks)), default=0)
        self._tags: dict[tuple[int, str | None], str] = {}

    def __call__(self, line: Line) -> None:
        owner = (line.rank, line.is_error)
        if line.is_state:
            self._screen.set_state(owner, self._text(line))
        elif line.rank is None or "\x1b" in line.text:
            self._screen.add_line(self._screen.render(self._text(line)), owner)
        else:
            # rich takes too long for the lines of a job that prints many.
            self._screen.add_line(self._tag(line.rank, line.host) + sanitized(line.text), owner)

    def _text(self, line: Line) -> Text:
        if line.rank is None:
            return Text(line.text, style="quiet")
        tag = f"{line.rank}@{line.host or '?'}"
        text = Text(f"{tag:<{self._width}} ", style=RANK_COLOURS[line.rank % len(RANK_COLOURS)])
        text.append("│ ", style="quiet")
        return text.append_text(with_colours(line.text))

    def _tag(self, rank: int, host: str | None) -> str:
        """Return the tag of a rank (`rank@host`) with its colour, as text for the terminal.

        The tag has `?` as the host if `host` is None. Tags are cached, because rendering is slow."""
        if (rank, host) not in self._tags:
            self._tags[rank, host] = self._screen.render(self._text(Line("", rank, host)))
        return self._tags[rank, host]


def with_colours(line: str) -> Text:
    """Return the line as rich text with the colours that the rank printed.

    Other control sequences are removed. The colours do not continue into the next line."""
    if "\x1b" not in line:
        return Text(line, style="default")
    from rich.ansi import AnsiDecoder

    return AnsiDecoder().decode_line(sanitized_with_colours(line))


def show_summary(
    console: Console, job: str, placement: Placement, record: JobRecord, restarts_before: int = 0, ranks: int = 0
) -> None:
    """Print how the job and every rank ended, as `record` says. `job` is the id of the job.

    `restarts_before` counts the restarts before the last master, which `record` does not include. `ranks` is the number
    of ranks, 0 if there are as many as slots. Remarks (such as dropped hosts) are printed only if the job succeeded,
    because the error of a failed job already contains them."""
    restarts = record.restarts + restarts_before
    size = f"{pluralize(ranks or placement.np, 'rank')} on {pluralize(len(placement.hosts), 'host')}"
    style = "good" if record.state == "succeeded" else "what"
    headline = Text(f"{job} {record.state}", style=style)
    again = f", {pluralize(restarts, 'restart')}" if restarts else ""
    headline.append(f": {size}, {show_seconds(record.seconds)}{again}", style="default")
    console.print(headline)
    if record.state == "succeeded":
        for remark in remarks(record):
            console.print(Text(f"  {remark}", style="quiet"))
    if not record.ranks:
        return
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column, justify in (
        ("rank", "right"),
        ("host", "left"),
        ("exit", "right"),
        ("time", "right"),
        ("memory", "right"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]  # a literal of rich's
    for end in record.ranks:
        table.add_row(str(end.rank), end.host, exit_words(end), _time(end), _memory(end))
    console.print(table)


def exit_words(end: RankEnd) -> str:
    """Return how a rank ended: its exit code, the name of a signal, or `out of memory`. Return `?` if unknown."""
    if end.was_oom_killed:
        return "out of memory"
    if end.signal:
        return end.signal_name
    return "?" if end.code is None else str(end.code)


def _time(end: RankEnd) -> str:
    return show_seconds(end.seconds) if end.seconds is not None else ""


def _memory(end: RankEnd) -> str:
    return show_bytes(end.max_rss_kb * 1024) if end.max_rss_kb else ""
