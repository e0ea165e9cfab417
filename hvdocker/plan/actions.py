"""What each kind of step does. A module per family of steps, imported when the first of them is done: `up`
need not know how an image is sent where all hosts have it, and no verb pays for all families."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hvdocker.plan import steps

if TYPE_CHECKING:
    from hvdocker.hosts.apply import Context

FAMILIES: dict[str, tuple[type[steps.Step], ...]] = {
    "images": (steps.BuildImage, steps.BuildLayer, steps.ShipImage, steps.PushImage, steps.PullImage),
    "workers": (
        steps.MakeKeys,
        steps.MakeFolders,
        steps.MakeNetwork,
        steps.CreateWorker,
        steps.RefreshTrust,
        steps.WriteMembers,
        steps.StartContainer,
        steps.AwaitSshd,
        steps.CheckMesh,
    ),
    "jobs": (steps.SyncCode, steps.WriteJob, steps.WritePatch, steps.CreateMaster),
    "joins": (steps.JoinJob, steps.TellMaster),
    "secrets": (steps.PutSecrets, steps.ForgetSecrets, steps.EmptySecrets),
    "ends": (
        steps.StopJob,
        steps.RemoveContainer,
        steps.RemoveTree,
        steps.RemoveNetwork,
        steps.RemoveImage,
        steps.FetchJobs,
    ),
}
_FAMILY_OF = {kind: name for name, kinds in FAMILIES.items() for kind in kinds}


def action_for(step: steps.Step) -> Callable[[Any, Context], None]:
    """Any: the very kind of step."""
    kind = type(step)
    found: Callable[[Any, Context], None] = _family(_FAMILY_OF[kind]).ACTIONS[kind]
    return found


@contextmanager
def prepare(stage: steps.Stage, context: Context) -> Iterator[None]:
    """What the hosts of a stage share."""
    some = list(stage.steps)
    if any(isinstance(step, steps.SyncCode) for step in some):
        _family("jobs").prepare(some, context)
    if not any(isinstance(step, FAMILIES["images"]) for step in some):
        yield
        return
    with _family("images").prepare(some, context):
        yield


def _family(name: str) -> Any:
    """Any: a module; each has its ACTIONS."""
    return import_module(f"{__name__}.{name}")
