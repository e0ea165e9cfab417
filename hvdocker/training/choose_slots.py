"""Chooses the hosts and slots of a job, at its start and again after it lost its head. Contacts no host.

A job gets the slots that the user requested. An elastic job gets as many as are free, within its bounds. A job that
lost its head gets slots on the hosts that still respond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.env import Env
from hvdocker.errors import NotEnoughSlots
from hvdocker.events import Event
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.launchers.launcher import Launcher
from hvdocker.locks.owner import refuse_foreign_owner
from hvdocker.observe.cluster_image import with_image_of_workers
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.link_speeds import read_link_speeds
from hvdocker.placement.offers import offers_to_job
from hvdocker.placement.slot_flags import slot_request
from hvdocker.placement.slots import SlotRequest
from hvdocker.placement.strategies import place_most
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic
from hvdocker.training.inputs.request import JobInputs, TrainRequest
from hvdocker.training.job_launcher import launcher_of_job
from hvdocker.training.plan.train import check_workers, usable_host_plans
from hvdocker.training.relaunch import Relaunch
from hvdocker.units import pluralize


def choose_slots(
    env: Env, located: Located, inputs: JobInputs, state: ClusterState, relaunch: Relaunch | None = None
) -> Placement:
    """Return the placement of the job on the hosts in `state`. Raises NotEnoughSlots if too few slots are free, and
    another HvdockerError if workers are missing or not running.

    `relaunch` is given if the job lost its head and is placed again. Then only hosts on which the job can be placed
    again are used (`usable_host_plans`), and other hosts in `-H` are ignored. The job may get fewer ranks than
    requested, but an elastic job gets at least `min_np`."""
    request, elastic = inputs.request, inputs.resilience.elastic
    inventory = with_image_of_workers(located.inventory, state)
    launcher = launcher_of_job(inventory, request, state).launcher
    host_plans = host_plans_for(inventory, state, relaunch)
    check_workers(inventory, host_plans, state, located.flag, may_miss=relaunch is not None)
    refuse_foreign_owner(inventory, state, env.maker().owner, request.is_forced)
    offers, links = offers_to_job(inventory, state, host_plans), read_link_speeds(located)
    known = host_plans if relaunch is None else plan_hosts(inventory, state)
    wanted = as_pool(slot_request_for(inventory, request, known), launcher)
    if relaunch and wanted.exact:
        left = tuple(share for share in wanted.exact if share.host in host_plans)
        if not left:
            raise NotEnoughSlots("none of the hosts that -H names is left")
        wanted = replace(wanted, np=None, exact=left, head="")
    if relaunch and not elastic and not wanted.exact:
        elastic = Elastic(1, wanted.np or relaunch.np)
    return place_most(replace(wanted, elastic=wanted.elastic or elastic), offers, links)


def host_plans_for(inventory: Inventory, state: ClusterState, relaunch: Relaunch | None) -> Mapping[str, HostPlan]:
    """Return the host plans of the cluster, by host. If `relaunch` is given (the job lost its head), return only those
    of hosts on which the job can be placed again."""
    host_plans = plan_hosts(inventory, state)
    return usable_host_plans(host_plans, state, relaunch.job) if relaunch else host_plans


def as_pool(wanted: SlotRequest, launcher: Launcher) -> SlotRequest:
    """Return the request `wanted`, changed if `launcher` is a pool (its ranks are independent and may wait for a free
    slot).

    For a pool, `-np` is the number of ranks, not of slots. So the job gets at most that many slots and at least one;
    with `-H` it gets exactly the slots that `-H` names. For any other launcher, and without `-np`, `wanted` is
    returned unchanged."""
    if not launcher.is_pool or wanted.np is None:
        return wanted
    return replace(wanted, np=None) if wanted.exact else replace(wanted, elastic=Elastic(1, wanted.np))


def note_waiting_ranks(env: Env, ranks: int, slots: int) -> None:
    """Send a note if a job has more ranks than slots, so that some ranks wait for a free slot. This can happen only if
    the launcher of the job is a pool."""
    if ranks > slots:
        env.listener(Event("note", f"{ranks} ranks share {pluralize(slots, 'slot')}: the others wait for a free one"))


def note_fewer_ranks(env: Env, wanted: int | None, got: int) -> None:
    """Send a note if the job starts with fewer ranks (`got`) than requested (`wanted`). None means that no number was
    requested."""
    if wanted and got < wanted:
        env.listener(Event("note", f"of {wanted} ranks {got} fit now: the job begins with these"))


def slot_request_for(inventory: Inventory, request: TrainRequest, host_plans: Mapping[str, HostPlan]) -> SlotRequest:
    """Return the slot flags of `train` (`-np`, `-H` and others) as a SlotRequest.

    `host_plans` has the host plans by host, with the training addresses: `-H` may name a host by its address too."""
    addresses = {name: found.address for name, found in host_plans.items()}
    return slot_request(request.slot_flags, inventory, addresses)
