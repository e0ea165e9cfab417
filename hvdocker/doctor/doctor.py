"""The verb `doctor`: examines all hosts at once and reports whether they are ready to train.

What it creates on a host is removed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hvdocker.cluster.plan.address_problems import address_problems
from hvdocker.cluster.plan.addresses import plan_hosts, port_conflicts
from hvdocker.cluster.plan.fitness import architecture_problems, cpu_problems, mount_problems
from hvdocker.cluster.port_conflict import port_errors
from hvdocker.doctor.examine_host import Examiner
from hvdocker.doctor.facts.facts import HostFacts
from hvdocker.doctor.facts.interfaces import InterfaceSeen, query_interfaces, read_interfaces
from hvdocker.doctor.judges.between_hosts import judge_between_hosts
from hvdocker.doctor.judges.cluster import why_replaced
from hvdocker.doctor.judges.host import FixCommands, JudgeInput, judge_host
from hvdocker.doctor.judges.interfaces import judge_interfaces
from hvdocker.doctor.pairs.examine import examine_pairs
from hvdocker.doctor.pairs.save_speeds import save_link_speeds
from hvdocker.doctor.report import DoctorReport, Finding, PairReport
from hvdocker.env import Env
from hvdocker.errors import HvdockerError
from hvdocker.events import Event
from hvdocker.images.default_image import with_default_image, with_forced_image
from hvdocker.images.plan import plan_image
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located, cluster_flag, inventory_flag
from hvdocker.locks.owner import refuse_foreign_owner
from hvdocker.observe.state import ClusterState, HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.scope import is_complete, scope_with_other_hosts
from hvdocker.placement.scope_label import scope_label_of_cluster
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink
    from hvdocker.transport.pool import HostOutcomes

INTERFACES_TIMEOUT_S = 20.0

Problems = dict[str, dict[str, tuple[HvdockerError, ...]]]  # by host, then by check


@dataclass(frozen=True)
class DoctorOptions:
    """Which checks the doctor runs.

    `is_deep`: also measure the bandwidth between hosts. `is_cheap`: only read facts from each host; start no
    container, and try no connection between hosts."""

    accept_new_host_keys: bool = False
    is_deep: bool = False
    is_cheap: bool = False


def doctor(env: Env, located: Located, options: DoctorOptions) -> DoctorReport:
    fix_commands = FixCommands(inventory_flag(env, located), cluster_flag(env, located))
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        inventory = with_default_image(located, session).inventory
        from hvdocker.observe.hosts import cluster_state, observe_hosts

        _say(env, "looking at every host")
        outcomes = observe_hosts(inventory, session.links)
        state = cluster_state(inventory, outcomes.done, with_images=True)
        inventory, state = with_forced_image(inventory, state)
        fix_commands = replace(fix_commands, scope_label=scope_label_of_cluster(state))
        host_plans, problems = _plan_hosts(inventory, state)
        _note_owner(inventory, state, env.maker().owner, problems)
        _note_ports(session, state, host_plans, problems)
        facts_by_host = _examine(env, inventory, session, outcomes, {} if options.is_cheap else host_plans)
        networks, pairs = _between(env, inventory, session, state, host_plans, options, fix_commands)
        save_link_speeds(located, pairs)
    whys = why_replaced(inventory, state, host_plans, env.maker(), _brought_key(env, located))
    cases = [
        JudgeInput(
            inventory,
            host,
            facts_by_host[host.name],
            fix_commands,
            host_plans.get(host.name),
            problems.get(host.name, {}),
            _missing_image_bytes(state, state.hosts.get(host.name)),
            _is_up_on(host.name, inventory, state),
            whys.get(host.name),
            networks.get(host.name),
            {name: place.address for name, place in host_plans.items()},
        )
        for host in inventory.hosts
    ]
    across = tuple(judge_between_hosts(inventory, facts_by_host, fix_commands.up, fix_commands.retrain))
    return DoctorReport(inventory.cluster, tuple(judge_host(case) for case in cases), pairs, across)


def _between(
    env: Env,
    inventory: Inventory,
    session: Session,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    options: DoctorOptions,
    fix_commands: FixCommands,
) -> tuple[Mapping[str, Finding], tuple[PairReport, ...]]:
    if options.is_cheap:
        return {}, ()
    networks = {} if inventory.is_local else examine_interfaces(session.links, host_plans)
    return networks, examine_pairs(
        env, inventory, session.links, state, host_plans, options.is_deep, fix_commands.flag.strip()
    )


def examine_interfaces(links: Mapping[str, HostLink], host_plans: Mapping[str, HostPlan]) -> dict[str, Finding]:
    """Return, by host, the finding about the network interface over which the host trains.

    `host_plans` has the plan of each host with its training address. A host whose interfaces cannot be read gets an
    UNKNOWN finding. Hosts of a local cluster are left out."""
    from hvdocker.transport.pool import for_each_host

    addresses = {name: place.address for name, place in host_plans.items() if not place.host.is_local}

    def look(name: str) -> tuple[InterfaceSeen, ...] | None:
        return read_interfaces(links[name].run(query_interfaces(), timeout_s=INTERFACES_TIMEOUT_S).text)

    seen = for_each_host([name for name in addresses if name in links], look).done
    return judge_interfaces(addresses, seen)


def _is_up_on(name: str, inventory: Inventory, state: ClusterState) -> bool:
    """Whether the host has a worker, or lacks the worker that it should have.

    If no host has a worker, the cluster is not up, and no host should have one. If the cluster was created for a number
    of slots (`up -np 6`), and the existing workers have all of these, the other hosts should have none."""
    workers = state.workers()
    return name in workers or (bool(workers) and not is_complete(inventory, state))


def _brought_key(env: Env, located: Located) -> str | None:
    """Return the public half of the user's own key, None if the inventory names none or the key cannot be read.

    A key that cannot be read is only reported as a note, because it says nothing about the hosts."""
    from hvdocker.cluster.up import user_public_key

    try:
        return user_public_key(located)
    except HvdockerError as error:
        env.listener(Event("note", f"`keys:` of the inventory: {error.what}"))
        return None


def _say(env: Env, text: str, host: str | None = None) -> None:
    env.listener(Event("doctor", text, host))


def _examine(
    env: Env,
    inventory: Inventory,
    session: Session,
    outcomes: HostOutcomes[HostSeen],
    host_plans: Mapping[str, HostPlan],
) -> dict[str, HostFacts]:
    """Return the facts of every host in the inventory, by host. `outcomes` has the results of the usual observation.

    `host_plans` has the plans of the hosts on which a trial container (a short-lived container that shows what ranks
    will find) may be started. It is empty for the cheap checks, which start no container. The hosts of a local cluster
    are one machine, which is examined once."""
    from hvdocker.transport.pool import for_each_host

    examiner = Examiner(inventory, env.maker(), env.now, env.entropy)

    def look(name: str) -> HostFacts:
        _say(env, "looking around", name)
        found = examiner.examine(
            session.links[name], outcomes.done.get(name), outcomes.failed.get(name), host_plans.get(name)
        )
        env.listener(Event("doctor", "done", name, is_end=True))
        return found

    wanted = list(session.links)[:1] if inventory.is_local else list(session.links)
    found = for_each_host(wanted, look)
    facts_by_host = {name: HostFacts(name, connect_error=error) for name, error in session.failed.items()}
    facts_by_host |= {name: HostFacts(name, connect_error=error) for name, error in found.failed.items()}
    facts_by_host |= found.done
    for name in session.links:
        if name not in facts_by_host:
            facts_by_host[name] = replace(facts_by_host[wanted[0]], name=name, seen=outcomes.done.get(name))
    return {host.name: facts_by_host[host.name] for host in inventory.hosts}


def _plan_hosts(inventory: Inventory, state: ClusterState) -> tuple[dict[str, HostPlan], Problems]:
    """Plan the observed hosts. Return the plan of each host, and the problems by host and check.

    A host that cannot be planned has no plan, only problems."""
    problems: Problems = {}
    try:
        host_plans = plan_hosts(inventory, state, scope_with_other_hosts(inventory, state))
    except HvdockerError as error:
        _note(problems, "address", getattr(error, "errors", None) or [error], list(state.hosts))
        left = {name: seen for name, seen in state.hosts.items() if name not in problems}
        rest = replace(state, hosts=left)
        host_plans = plan_hosts(inventory, rest, scope_with_other_hosts(inventory, rest)) if left else {}
    names = list(host_plans)
    _note(problems, "mounts", [e for name in names for e in mount_problems(inventory, name, host_plans[name])], names)
    _note(problems, "address", address_problems(host_plans), names)
    _note(problems, "cpu", cpu_problems(inventory, host_plans), names)
    _note(problems, "architecture", architecture_problems(host_plans), names)
    # Hosts of two architectures cannot share any image, which the finding about them says.
    if host_plans and not any("architecture" in found for found in problems.values()):
        _note(problems, "image", _image_problems(inventory, state, host_plans), names)
    return host_plans, problems


def _image_problems(
    inventory: Inventory, state: ClusterState, host_plans: Mapping[str, HostPlan]
) -> list[HvdockerError]:
    """Return the error that `up` would raise about the image, in a list: for example, no engine has the image.

    The list is empty if `up` could bring the image to the hosts."""
    try:
        plan_image(inventory, state, host_plans)
    except HvdockerError as error:
        return [error]
    return []


def _note_owner(inventory: Inventory, state: ClusterState, owner: str, problems: Problems) -> None:
    try:
        refuse_foreign_owner(inventory, state, owner, is_forced=False)
    except HvdockerError as error:
        _note(problems, "worker", [error], list(state.workers()))


def _note_ports(session: Session, state: ClusterState, host_plans: Mapping[str, HostPlan], problems: Problems) -> None:
    for name in port_conflicts(state, host_plans):
        try:
            errors = port_errors(session.links, [name], host_plans)
        except HvdockerError as error:
            errors = [error.at(name)]
        _note(problems, "port", errors, [name])


def _note(problems: Problems, check: str, errors: list[HvdockerError], all_hosts: list[str]) -> None:
    """Add the errors to `problems`, under their host and the check (its name in the report, such as `mounts`).

    An error that names no host is added to every host in `all_hosts`."""
    for error in errors:
        for name in [error.host] if error.host else all_hosts:
            of_host = problems.setdefault(name, {})
            of_host[check] = (*of_host.get(check, ()), error)


def _missing_image_bytes(state: ClusterState, seen: HostSeen | None) -> int:
    """Return how many bytes the cluster's image will take on a host that lacks it.

    `seen` is the observed host, None if it could not be observed. Return 0 if the host has the image or was not
    observed, or if the size is unknown because no other engine has the image."""
    if seen is None or seen.image is not None:
        return 0
    known = [state.controller_image, *(host.image for host in state.hosts.values())]
    return max((image.size_bytes for image in known if image), default=0)
