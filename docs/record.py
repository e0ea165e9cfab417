"""Records real commands on lab hosts as pictures of a terminal: `make record` writes docs/img/first-run.svg.

Every command runs on a pseudo-terminal. pyte interprets what it prints, as a terminal does, and rich draws the screen.
Nothing is drawn by hand."""

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyte
from rich.console import Console
from rich.text import Text

from tests.cluster.lab import Lab

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "img" / "first-run.svg"
COLUMNS, MOST_LINES = 100, 200
SETTINGS = {"cluster": "lab", "image": "torch-cpu"}
COMMANDS = (
    "hvdocker up",
    "hvdocker train train.py -np 3 -- --samples 12000",
    "hvdocker down -y",
)
# The names of pyte's eight colours that rich calls otherwise.
COLOURS = {"brown": "yellow", "default": "default"}
# Readers of the picture need no font from the network.
FONT_FACES = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def record(commands: Iterable[str], folder: Path, environment: Mapping[str, str]) -> pyte.Screen:
    """Run the commands in the folder, one after the other, and return the screen that they leave."""
    screen = pyte.Screen(COLUMNS, MOST_LINES)
    stream = pyte.ByteStream(screen)
    for command in commands:
        stream.feed(f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\r\n".encode())
        run_on_terminal(["/bin/bash", "-c", command], folder, environment, stream)
        stream.feed(b"\r\n")
    return screen


def run_on_terminal(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], stream: pyte.ByteStream
) -> None:
    """Run a command on a pseudo-terminal and feed all that it prints; raise if it fails."""
    ours, theirs = pty.openpty()
    size = {"COLUMNS": str(COLUMNS), "LINES": "40", "TERM": "xterm-256color"}
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**environment, **size},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:  # the last process on the terminal has ended
            break
        stream.feed(data)
    os.close(ours)
    if process.wait():
        raise SystemExit(f"record: {words[-1]} ended with {process.returncode}")


def as_text(screen: pyte.Screen) -> Text:
    """Return the screen as styled text, without the empty lines at its end."""
    lines = []
    for number in range(MOST_LINES):
        line = Text()
        for column in range(COLUMNS):
            cell = screen.buffer[number][column]
            line.append(cell.data, style=style_of(cell))
        line.rstrip()
        lines.append(line)
    while lines and not lines[-1].plain:
        lines.pop()
    return Text("\n").join(lines)


def style_of(cell: pyte.screens.Char) -> str:
    marks = (("bold", cell.bold), ("italic", cell.italics), ("reverse", cell.reverse))
    words = [word for word, is_set in marks if is_set]
    colour = cell.fg if not re.fullmatch("[0-9a-f]{6}", cell.fg) else f"#{cell.fg}"
    colour = re.sub("^bright(?=[a-z])", "bright_", COLOURS.get(colour, colour))
    return " ".join([*words, colour])


def write_picture(screen: pyte.Screen, path: Path, title: str) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(as_text(screen), no_wrap=True, crop=False)
    svg = console.export_svg(title=title, unique_id="recorded")
    svg = FONT_FACES.sub("", svg).replace("Fira Code, monospace", "DejaVu Sans Mono, Menlo, Consolas, monospace")
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n", encoding="utf-8")


def main() -> None:
    lab = Lab.attach()
    hosts = lab.fresh(3)
    with tempfile.TemporaryDirectory(prefix="hvdocker-") as home:
        folder = Path(home) / "mnist"
        shutil.copytree(ROOT / "examples" / "torch", folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
        shutil.copytree(ROOT / ".cache" / "fashion-mnist", folder / "data")
        lab.write_inventory(folder / "inventory.yaml", hosts, **SETTINGS)
        (Path(home) / ".ssh").mkdir(mode=0o700)
        shutil.copy(lab.state.known_hosts, Path(home) / ".ssh" / "known_hosts")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HVDOCKER_", "SSH_"))}
        environment = {**kept, "HOME": home, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        # The image travels before the recording: the picture shows hosts that have it.
        record(["hvdocker up -q", "hvdocker down -q -y"], folder, environment)
        write_picture(record(COMMANDS, folder, environment), PICTURE, "three hosts, one training")
    print(f"record: {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
