"""Tries every connection between hosts, in both directions, from inside the training image.

Uses the workers if the whole cluster is up, else short-lived containers that end by themselves, so that neither
Ctrl-C nor a lost controller leaves one. Ships no image: a host without it is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.cluster.containers.roles import doctor_spec
from hvdocker.cluster.plan.addresses import port_conflicts
from hvdocker.doctor.pairs import commands as words
from hvdocker.doctor.pairs.commands import Listener, PairAnswer, Speed, SshCheck
from hvdocker.doctor.pairs.judge import judge_pairs
from hvdocker.doctor.pairs.pair_results import Pair, PairResults, SkipReason
from hvdocker.doctor.pairs.round_robin import rounds
from hvdocker.doctor.pairs.skip_reasons import failure_reason, hosts_to_skip, no_listener_reason, old_image_reason
from hvdocker.doctor.report import PairReport
from hvdocker.env import Env
from hvdocker.events import Event
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# The limit for the whole examination. Containers and listeners end by themselves after it.
LIFE_S = 120
ROUND_S = 3


@dataclass
class _Visit:
    """One examination: the container on each host, and the results."""

    env: Env
    inventory: Inventory
    links: Mapping[str, HostLink]
    state: ClusterState
    placed: Mapping[str, HostPlan]
    life_s: int
    containers: dict[str, str] = field(default_factory=dict)
    ssh_checks: dict[str, SshCheck] = field(default_factory=dict)
    skipped: dict[str, SkipReason] = field(default_factory=dict)
    listeners: dict[str, Listener] = field(default_factory=dict)
    answers: dict[Pair, PairAnswer] = field(default_factory=dict)
    speeds: dict[Pair, Speed] | None = None

    @property
    def port(self) -> int:
        return next((place.port for place in self.placed.values()), names.DEFAULT_PORT)

    def each(self, hosts: list[str], work: Callable[[str], None], on_interrupt: Callable[[], None]) -> None:
        """Work on all hosts at once. A host that fails is skipped from then on; the others continue."""
        from hvdocker.transport.pool import for_each_host

        outcomes = for_each_host(hosts, work, on_interrupt=on_interrupt)
        for name, error in outcomes.failed.items():
            self.skipped[name] = failure_reason(error)

    def survey(self) -> PairResults:
        """Return the results in inventory order, whatever order the answers came in."""
        order = tuple(host.name for host in self.inventory.hosts)
        listeners = {name: self.listeners[name] for name in order if name in self.listeners}
        known = [(start, end) for start in listeners for end in listeners if start not in self.skipped]
        answers = {pair: self.answers[pair] for pair in known if pair in self.answers}
        return PairResults(order, self.port, listeners, answers, self.skipped, self.ssh_checks, self.speeds)


def examine_pairs(
    env: Env,
    inventory: Inventory,
    links: Mapping[str, HostLink],
    state: ClusterState,
    placed: Mapping[str, HostPlan],
    is_deep: bool,
    inventory_flag: str = "",
) -> tuple[PairReport, ...]:
    """Examine every pair of hosts. `inventory_flag` (`-i FILE`) completes the commands that findings suggest."""
    life_s = LIFE_S + (ROUND_S * 2 * len(placed) if is_deep else 0)
    visit = _Visit(env, inventory, links, state, placed, life_s, speeds={} if is_deep else None)
    visit.skipped = hosts_to_skip(inventory, state, placed, frozenset(links), inventory_flag)
    is_up = _whole_cluster_runs(state, placed)
    if is_up:
        visit.skipped = {name: why for name, why in visit.skipped.items() if name not in placed}
    present = [name for name in placed if name not in visit.skipped]
    if len(present) > 1:
        env.listener(Event("doctor", f"trying every way between {len(present)} hosts"))
        with _in_workers(visit, present) if is_up else _in_own_containers(visit, present) as stop:
            _examine(visit, stop)
        env.listener(Event("doctor", "every way was tried", is_end=True))
    return judge_pairs(visit.survey())


def _whole_cluster_runs(state: ClusterState, placed: Mapping[str, HostPlan]) -> bool:
    workers = state.workers()
    return bool(placed) and all(
        name in workers
        and workers[name].is_running
        and workers[name].labels.get(names.LABEL_PORT) == str(place.port)
        and workers[name].labels.get(names.LABEL_ADDRESS) == place.address
        for name, place in placed.items()
    )


def _examine(visit: _Visit, stop: Callable[[], None]) -> None:
    """Start all listeners, then try all connections, then measure the bandwidth."""
    visit.each(list(visit.containers), lambda name: _listen(visit, name), stop)
    visit.each(list(visit.listeners), lambda name: _try_peers(visit, name), stop)
    if visit.speeds is not None:
        for round_ in rounds([name for name in visit.listeners if name not in visit.skipped]):
            for pairs in (round_, [(end, start) for start, end in round_]):
                _pour(visit, dict(pairs), stop)


def _listen(visit: _Visit, name: str) -> None:
    place, token = visit.placed[name], visit.env.entropy(12).hex()
    sshd = place.port if visit.ssh_checks[name] is SshCheck.LOGIN else None
    code, out, err = _ask(visit, name, words.listen_argv(place.address, token, visit.life_s, sshd))
    if code in (2, 126, 127):
        visit.skipped[name] = old_image_reason(visit.inventory, name, err)
        return
    post = words.read_listener(name, place.address, token, out)
    if isinstance(post, Listener):
        visit.listeners[name] = post
    else:
        visit.skipped[name] = no_listener_reason(name, post, err)


def _try_peers(visit: _Visit, name: str) -> None:
    peers = [post for post in visit.listeners.values() if post.host != name]
    order = words.pairs_argv(visit.listeners[name], peers, visit.port, visit.ssh_checks)
    _, out, err = _ask(visit, name, order)
    answers = words.read_pairs(out)
    if answers is None:
        visit.skipped[name] = no_listener_reason(name, "its answer is not understood", err)
        return
    visit.answers |= {(name, end): answer for end, answer in answers.items()}


def _pour(visit: _Visit, ends: Mapping[str, str], stop: Callable[[], None]) -> None:
    speeds = visit.speeds if visit.speeds is not None else {}

    def measure(start: str) -> None:
        end = ends[start]
        order = words.bandwidth_argv(visit.listeners[start], visit.listeners[end])
        speeds[start, end] = words.read_bandwidth(_ask(visit, start, order)[1])

    visit.each(list(ends), measure, stop)


def _ask(visit: _Visit, name: str, argv: list[str]) -> tuple[int, str, str]:
    from hvdocker.engine.container_exec import exec_in_container

    return exec_in_container(visit.links[name], visit.containers[name], argv)


@contextmanager
def _in_workers(visit: _Visit, present: list[str]) -> Iterator[Callable[[], None]]:
    """Use the workers' containers, and end the listeners there, which would run until their time limit."""
    from hvdocker.transport.pool import for_each_host

    visit.ssh_checks = dict.fromkeys(present, SshCheck.LOGIN)
    visit.containers = {name: visit.placed[name].worker_name for name in present}

    def stop() -> None:
        for_each_host(
            list(visit.listeners), lambda name: _ask(visit, name, words.stop_listener_argv(visit.listeners[name]))
        )

    try:
        yield stop
    finally:
        stop()


@contextmanager
def _in_own_containers(visit: _Visit, present: list[str]) -> Iterator[Callable[[], None]]:
    from hvdocker.doctor.pairs.probe_containers import remove_probe_container
    from hvdocker.transport.pool import for_each_host

    visit.ssh_checks = _ways(visit, present)
    name_of_all = names.doctor_name(visit.inventory.cluster)
    begun: dict[str, str] = {}

    def stop() -> None:
        outcomes = for_each_host(list(begun), lambda name: remove_probe_container(visit.links[name], begun[name]))
        for name, error in outcomes.failed.items():
            text = f"{name_of_all} could not be removed ({error.what}); it ends by itself"
            visit.env.listener(Event("note", f"{name}: {text}"))

    try:
        _open_all(visit, present, begun, stop)
        yield stop
    finally:
        stop()


def _ways(visit: _Visit, present: list[str]) -> dict[str, SshCheck]:
    held = port_conflicts(visit.state, visit.placed)
    taken = {name for name in present if visit.port in visit.placed[name].seen.listening_ports}
    return {
        name: SshCheck.HELD if name in held else SshCheck.GREETING if name in taken else SshCheck.LOGIN
        for name in present
    }


def _open_all(visit: _Visit, present: list[str], begun: dict[str, str], stop: Callable[[], None]) -> None:
    from hvdocker.doctor.pairs.probe_containers import (
        make_probe_keys,
        remove_stale_probe_container,
        start_probe_container,
    )

    passes = make_probe_keys(visit.inventory.cluster, [visit.placed[name] for name in present], visit.port)
    maker = visit.env.maker()

    def begin(name: str) -> None:
        place = visit.placed[name]
        has_sshd = visit.ssh_checks[name] is SshCheck.LOGIN
        spec = doctor_spec(visit.inventory, place, maker, has_sshd, visit.life_s)
        remove_stale_probe_container(visit.links[name], spec.name, place.seen.containers)
        start_probe_container(visit.links[name], spec, place, passes, lambda made: begun.update({name: made}))
        visit.containers[name] = spec.name

    visit.each(present, begin, stop)
