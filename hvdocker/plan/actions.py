"""Who carries out a step: the module `actions` of the package that defines it, imported when the first of its
steps is done. `up` need not know how an image is sent where all hosts have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hvdocker.plan.plan import Stage, Step

if TYPE_CHECKING:
    from hvdocker.plan.apply import Context


def action_for(step: Step) -> Callable[[Any, Context], None]:
    """Any: the very kind of step."""
    found: Callable[[Any, Context], None] = actions_of(type(step)).ACTIONS[type(step)]
    return found


@contextmanager
def prepare(stage: Stage, context: Context) -> Iterator[None]:
    """What the hosts of a stage share: `actions` of a package may have a `prepare`."""
    some = list(stage.steps)
    with ExitStack() as prepared:
        for module in dict.fromkeys(actions_of(type(step)) for step in some):
            if hasattr(module, "prepare"):
                prepared.enter_context(module.prepare(some, context))
        yield


def actions_of(kind: type[Step]) -> Any:
    """Any: a module; each has its ACTIONS."""
    return import_module(f"{kind.__module__.rpartition('.')[0]}.actions")
