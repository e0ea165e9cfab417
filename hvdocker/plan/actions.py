"""Finds the function that executes a step, in the module `actions` of the package that defines the step.

That module is imported when its first step is executed, which saves time: an `up` whose hosts all have the
image does not import the code that sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hvdocker.plan.plan import Stage, Step

if TYPE_CHECKING:
    from hvdocker.plan.apply import Context


def action_for(step: Step) -> Callable[[Any, Context], None]:
    """Return the function that executes the step, from the table ACTIONS of its package. Raises KeyError if the table
    does not have the step's class. The function's parameter is `Any` because each function takes only its own class of
    step."""
    found: Callable[[Any, Context], None] = actions_module(type(step)).ACTIONS[type(step)]
    return found


@contextmanager
def prepare(stage: Stage, context: Context) -> Iterator[None]:
    """Enter the context manager `prepare` of every `actions` module that has steps in the stage. A module without
    `prepare` is skipped.

    A `prepare` gets all steps of the stage, and does the work that the hosts of the stage share, such as sending the
    code to all of them. It is exited when the steps are done."""
    some = list(stage.steps)
    with ExitStack() as prepared:
        for module in dict.fromkeys(actions_module(type(step)) for step in some):
            if hasattr(module, "prepare"):
                prepared.enter_context(module.prepare(some, context))
        yield


def actions_module(kind: type[Step]) -> Any:
    """Return the `actions` module for a class of steps: `<package>/actions.py`, beside the module that defines the
    class. It is imported if it is not yet. The result is `Any` because it is a module, found by name, with a table
    ACTIONS."""
    return import_module(f"{kind.__module__.rpartition('.')[0]}.actions")
