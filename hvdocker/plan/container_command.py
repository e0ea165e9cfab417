"""A command in a running container, as part of a step."""

from __future__ import annotations

from hvdocker.plan.apply import Context


def run_inside(context: Context, host: str, container: str, argv: list[str]) -> tuple[int, str]:
    """A command in a running container: its exit code and what it said."""
    engine = context.engine(host)
    made = engine.exec_create(container, argv)["Id"]
    output: bytes = engine.exec_start(made)
    return engine.exec_inspect(made)["ExitCode"], output.decode("utf-8", "replace")
