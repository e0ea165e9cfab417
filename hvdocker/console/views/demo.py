"""Shows the commands of `demo` before they run. At the end it shows the result, and what to do on real machines."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from hvdocker.demo.demo import DemoReport, DemoStep

_NEXT = (
    ("hvdocker init", "choose hosts from ~/.ssh/config, and check them"),
    ("hvdocker up", "image, keys and one worker on every host"),
    ("hvdocker train train.py -np 4", "sync your code, run 4 processes, stream their output"),
    ("hvdocker down", "outputs come home; containers, keys and folders go"),
)


def show_step(console: Console, step: DemoStep) -> None:
    console.print()
    console.print(Text(f"# {step.about}", style="quiet"))
    console.print(Text(f"$ {shlex.join(('hvdocker', *step.words))}", style="bold"))


def show_result(console: Console, report: DemoReport) -> None:
    console.print()
    console.print(f"model     {report.model}")
    console.print(f"accuracy  {report.accuracy:.3f} on {report.images:,} images that no rank trained on")


def show_next(console: Console, report: DemoReport) -> None:
    """Print what is left on this machine, and the commands for real machines."""
    console.print()
    console.print(f"left here: {report.folder}, and images for the next time (docker image ls)", style="quiet")
    console.print("on your own machines, which need sshd and Docker:")
    width = max(len(command) for command, _ in _NEXT)
    for command, about in _NEXT:
        console.print(Text.assemble(f"  {command:<{width}}  ", (f"# {about}", "quiet")))
