"""Shows a plan: one line per step."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hvdocker.plan.plan import Plan


def show_plan(console: Console, plan: Plan) -> None:
    if plan.is_empty:
        return
    width = max(len(step.host) for step in plan.steps)
    for stage in plan.stages:
        for step in stage.steps:
            text = Text(f"{stage.name:<10} ", style="stage")
            text.append(f"{step.host:<{width}}  ", style="bold")
            text.append(step.describe(), style="default")
            console.print(text)
