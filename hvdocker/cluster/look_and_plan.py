"""Observes the hosts for the verb `up`, chooses the slots of the cluster, and plans.

Modules that only the plan needs are imported inside functions. The command line (cli/up.py) imports them in the
background while the hosts are connected to and observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.cluster.up import Explain, UpOptions, UpReport, user_public_key
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, raise_all
from hvdocker.events import Event
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.observe.hosts import partial_state, refresh_state
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session


@dataclass(frozen=True)
class UpObservation:
    """What was observed and planned for `up`.

    `report` has the plan. `failed` has, by host, the errors of the hosts that did not answer and that `up` leaves
    out."""

    report: UpReport
    state: ClusterState
    failed: Mapping[str, HvdockerError]


def look_and_plan(
    env: Env, located: Located, session: Session, options: UpOptions, known: UpObservation | None = None
) -> UpObservation:
    """Observe the hosts, choose the slots of the cluster, and plan.

    `known` is an observation from just before the locks were taken, or None. If it is given, only facts that other
    users may have changed since then are observed again. Raises HvdockerError if another process listens on the worker
    port, if hosts cannot be used, or if the plan would change a cluster of another user (unless
    `options.is_forced`)."""
    inventory, request = located.inventory, options.request
    state, failed = _observe(env, inventory, session, options, known)
    from hvdocker.cluster.find_unreachable import unreachable_hosts
    from hvdocker.cluster.plan.addresses import plan_hosts, port_conflicts
    from hvdocker.cluster.plan.up import plan_up
    from hvdocker.cluster.port_conflict import port_errors
    from hvdocker.images.default_image import with_forced_image
    from hvdocker.locks.owner import refuse_foreign_owner
    from hvdocker.placement.link_speeds import read_link_speeds
    from hvdocker.placement.scope import full_scope, requested_scope

    named = inventory.image if inventory.has_named_image else ""
    inventory, state = with_forced_image(inventory, state)
    if named and inventory.image != named and known is None:
        kept = f"the cluster keeps {inventory.image}, which `up --image` gave it; the inventory names {named}"
        env.listener(Event("note", f"{kept}: hvdocker up --image {named} replaces it"))
    # Checked again even if `known` is given: the elastic job that can do without these hosts may have ended.
    unreachable = unreachable_hosts(session.links, state, failed)
    if request:
        scope = requested_scope(inventory, state, request, read_link_speeds(located))
    else:
        scope = full_scope(inventory, state)
    host_plans = plan_hosts(inventory, state, scope)
    plan = plan_up(inventory, state, host_plans, env.maker(), user_public_key(located), unreachable)
    # After the plan, which raises problems of hosts: a machine that is named twice has its own worker on the port.
    raise_all("the port is taken", port_errors(session.links, port_conflicts(state, host_plans), host_plans))
    if not plan.is_empty:
        refuse_foreign_owner(inventory, state, env.maker().owner, options.is_forced)
    return UpObservation(UpReport(plan, host_plans, tuple(failed.values())), state, failed)


def _observe(
    env: Env, inventory: Inventory, session: Session, options: UpOptions, known: UpObservation | None
) -> tuple[ClusterState, Mapping[str, HvdockerError]]:
    """Return the observed state, and the errors of the hosts that could not be observed, by host.

    `known` is an observation from just before the locks were taken. It is refreshed and returned; None if there is
    none. With `options.request` (the user asked for some slots) no errors are returned: hosts that cannot be used are
    left out, or HvdockerError is raised."""
    if known:
        return refresh_state(inventory, session.links, known.state), known.failed
    if options.request:
        return _observe_usable_hosts(env, inventory, session, options), {}
    state, unfit = partial_state(inventory, session.links)
    return state, {**session.failed, **unfit}


def _observe_usable_hosts(env: Env, inventory: Inventory, session: Session, options: UpOptions) -> ClusterState:
    """Return the state of the hosts that can be used, for an `up` that asks for some slots (`options.request`).

    Raises HvdockerError if the request names a host that cannot be used, or if no host can be used. If a part of the
    cluster already exists, other workers, and perhaps a running job, may be on the hosts that cannot be used. So
    HvdockerError is also raised if the observed workers are not the whole cluster (`is_complete`), unless
    `options.is_forced`."""
    from hvdocker.placement.scope import is_complete
    from hvdocker.placement.slots import SlotRequest

    state, unfit = partial_state(inventory, session.links)
    failed = {**session.failed, **unfit}
    request = options.request or SlotRequest()
    named = {*request.include, *(share.host for share in request.exact)}
    is_torn = bool(state.workers()) and not is_complete(inventory, state) and not options.is_forced
    needed = [error for name, error in failed.items() if name in named or is_torn or not state.hosts]
    raise_all("some hosts cannot be used", needed)
    for name, error in failed.items():
        if name not in request.exclude:
            env.listener(Event("note", f"left out: {error.what}", name))
    return state


def explain_placement(
    env: Env, located: Located, options: UpOptions, state: ClusterState, tell: Explain | None
) -> None:
    """Call `tell` with an explanation of why the slots were placed as they were.

    Do nothing if `tell` or `options.request` is None. If the cluster was already made for the same request, nothing is
    placed: a note is sent instead."""
    if tell is None or options.request is None:
        return
    from hvdocker.placement.link_speeds import read_link_speeds
    from hvdocker.placement.scope import explain_requested_scope

    found = explain_requested_scope(located.inventory, state, options.request, read_link_speeds(located))
    if found:
        tell(found)
    else:
        env.listener(Event("note", "the cluster of this request is there already, and stays where it is"))
