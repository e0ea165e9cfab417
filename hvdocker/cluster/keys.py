"""The verb keys: rotates the SSH keys of a cluster by replacing the worker on every host.

Unlike `up`, `keys rotate` takes the locks before it observes the hosts, except in a dry run, which takes none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hvdocker.cluster.plan.addresses import plan_hosts, port_conflicts
from hvdocker.cluster.plan.up import plan_rotation
from hvdocker.cluster.port_conflict import port_errors
from hvdocker.cluster.up import UpReport, user_public_key
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, Interrupted, raise_all
from hvdocker.events import Event
from hvdocker.images.default_image import with_default_image, with_forced_image
from hvdocker.inventory.locate import Located, cluster_flag
from hvdocker.locks.owner import refuse_foreign_owner
from hvdocker.placement.observe_cluster import observe_cluster
from hvdocker.plan.plan import Plan
from hvdocker.transport.session import Session, connected

Show = Callable[[Plan], None]
UNFINISHED = "the rotation is not finished"


@dataclass(frozen=True)
class RotateOptions:
    accept_new_host_keys: bool = False
    is_dry_run: bool = False
    is_forced: bool = False
    lock_wait_s: float = 0.0


def rotate(env: Env, located: Located, options: RotateOptions, show: Show = lambda plan: None) -> UpReport:
    """Replace all workers by new workers with new keys. Return the plan and the hosts. `show` is called with the plan.

    A failed rotation is not undone, because the old workers are gone. The new workers stay, and running the command
    again finishes the rotation."""
    user_key = user_public_key(located)
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        located = with_default_image(located, session)
        if options.is_dry_run:
            report = _observe_and_plan(env, located, session, options, user_key)
            show(report.plan)
            return report
        from hvdocker.locks.lock import locked
        from hvdocker.plan.apply import Context, apply

        with locked(env, located, session.links, "keys rotate", options.lock_wait_s) as held:
            report = _observe_and_plan(env, located, session, options, user_key)
            show(report.plan)
            with _marking_unfinished(cluster_flag(env, located)):
                apply(report.plan, Context(located.inventory, session.links, env.listener, guard=held.raise_if_lost))
        return report


def _observe_and_plan(
    env: Env, located: Located, session: Session, options: RotateOptions, user_key: str | None
) -> UpReport:
    """Observe the hosts and plan the rotation. `user_key` is the user's own public key, None if the inventory names
    none.

    Raises HvdockerError if a needed host cannot be used, if the cluster has no worker or a running job, if another
    process listens on the worker port, or if another user owns the cluster (unless `options.is_forced`)."""
    inventory = located.inventory
    state = observe_cluster(located, session, with_images=True)
    inventory, state = with_forced_image(inventory, state)
    host_plans = plan_hosts(inventory, state)
    raise_all("the port is taken", port_errors(session.links, port_conflicts(state, host_plans), host_plans))
    plan = plan_rotation(inventory, state, host_plans, env.maker(), user_key)
    refuse_foreign_owner(inventory, state, env.maker().owner, options.is_forced)
    if inventory.keys:
        pair = f"the client key is your own, {inventory.keys.private}"
        env.listener(Event("note", f"{pair}: host keys are made new; for another pair change the files"))
    return UpReport(plan, host_plans)


@contextmanager
def _marking_unfinished(flag: str) -> Iterator[None]:
    """Add to every error in the block that the rotation is not finished, and the command that finishes it.

    Ctrl-C becomes the error Interrupted with the same text. Until the rotation is finished, some workers may have old
    keys and others new keys. `flag` (` -i FILE`) is added to the command."""
    again = f"finish it: hvdocker keys rotate{flag}"
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(UNFINISHED, fix=again) from None
    except HvdockerError as error:
        error.what = f"{UNFINISHED} ({again}): {error.what}"
        raise
