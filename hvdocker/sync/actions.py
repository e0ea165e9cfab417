"""Syncs the code of a stage to all its hosts together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hvdocker.plan.apply import Context
from hvdocker.plan.plan import Step
from hvdocker.sync import code_stage
from hvdocker.sync.steps import SyncCode


@contextmanager
def prepare(some: list[Step], context: Context) -> Iterator[None]:
    """A folder is read and packed once for all hosts."""
    code_stage.bring([step for step in some if isinstance(step, SyncCode)], context)
    yield


def _sync_code(step: SyncCode, context: Context) -> None:
    """Its host was synced with all others, before: here it gets its own outcome."""
    code_stage.tell(step.host, context)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {SyncCode: _sync_code}
