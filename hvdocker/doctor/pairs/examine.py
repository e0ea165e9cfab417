"""Tries every connection between hosts, in both directions, from inside the training image.

The checks run in the workers if the whole cluster is up. Otherwise they run in short-lived containers that end by
themselves, so that neither Ctrl-C nor a lost controller leaves one behind. No image is shipped: a host without the
image is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.cluster.containers.roles import doctor_spec
from hvdocker.cluster.plan.addresses import port_conflicts
from hvdocker.doctor.pairs import commands
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

# The time limit for the whole examination. Containers and listeners end by themselves after it. `--deep` adds twice
# ROUND_S for each host.
LIFE_S = 120
ROUND_S = 3


@dataclass
class _Examination:
    """The state of one examination, by host or pair of hosts. `host_plans` has the host plans.

    `life_s` is the time after which containers and listeners end by themselves. `containers` are the names of the
    containers in which the checks run. `ssh_checks` says which check is made on each host's worker port. `skipped` are
    the hosts that cannot be checked. `listeners` are the processes that opened ports for the peers. `answers` has what
    one host of a pair found out about the other. `speeds` is None unless the bandwidth is measured."""

    env: Env
    inventory: Inventory
    links: Mapping[str, HostLink]
    state: ClusterState
    host_plans: Mapping[str, HostPlan]
    life_s: int
    containers: dict[str, str] = field(default_factory=dict)
    ssh_checks: dict[str, SshCheck] = field(default_factory=dict)
    skipped: dict[str, SkipReason] = field(default_factory=dict)
    listeners: dict[str, Listener] = field(default_factory=dict)
    answers: dict[Pair, PairAnswer] = field(default_factory=dict)
    speeds: dict[Pair, Speed] | None = None

    @property
    def port(self) -> int:
        return next((place.port for place in self.host_plans.values()), names.DEFAULT_PORT)

    def each(self, hosts: list[str], work: Callable[[str], None], on_interrupt: Callable[[], None]) -> None:
        """Run `work` with the name of each host, on all hosts at once.

        If it fails on a host, that host is marked as skipped; the others continue. `on_interrupt` is called on
        Ctrl-C."""
        from hvdocker.transport.pool import for_each_host

        outcomes = for_each_host(hosts, work, on_interrupt=on_interrupt)
        for name, error in outcomes.failed.items():
            self.skipped[name] = failure_reason(error)

    def results(self) -> PairResults:
        """Return the results in inventory order, not in the order in which the answers came."""
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
    host_plans: Mapping[str, HostPlan],
    is_deep: bool,
    inventory_flag: str = "",
) -> tuple[PairReport, ...]:
    """Examine every pair of hosts, in both directions. With `is_deep` the bandwidth is measured too.

    `host_plans` has the plan of each host, and `state` the observed workers. `inventory_flag` (`-i FILE`) is added to
    the `hvdocker image push` that findings suggest. Pairs that could not be checked get UNKNOWN findings."""
    life_s = LIFE_S + (ROUND_S * 2 * len(host_plans) if is_deep else 0)
    examination = _Examination(env, inventory, links, state, host_plans, life_s, speeds={} if is_deep else None)
    examination.skipped = hosts_to_skip(inventory, state, host_plans, frozenset(links), inventory_flag)
    is_up = _whole_cluster_runs(state, host_plans)
    if is_up:
        examination.skipped = {name: why for name, why in examination.skipped.items() if name not in host_plans}
    present = [name for name in host_plans if name not in examination.skipped]
    if len(present) > 1:
        env.listener(Event("doctor", f"trying every way between {len(present)} hosts"))
        with _in_workers(examination, present) if is_up else _in_own_containers(examination, present) as stop:
            _examine(examination, stop)
        env.listener(Event("doctor", "every way was tried", is_end=True))
    return judge_pairs(examination.results())


def _whole_cluster_runs(state: ClusterState, host_plans: Mapping[str, HostPlan]) -> bool:
    workers = state.workers()
    return bool(host_plans) and all(
        name in workers
        and workers[name].is_running
        and workers[name].labels.get(names.LABEL_PORT) == str(place.port)
        and workers[name].labels.get(names.LABEL_ADDRESS) == place.address
        for name, place in host_plans.items()
    )


def _examine(examination: _Examination, stop: Callable[[], None]) -> None:
    """Start all listeners, then try all connections, then measure the bandwidth if that is wanted.

    `stop` ends the containers or listeners; it is called on Ctrl-C."""
    examination.each(list(examination.containers), lambda name: _listen(examination, name), stop)
    examination.each(list(examination.listeners), lambda name: _try_peers(examination, name), stop)
    if examination.speeds is not None:
        for round_ in rounds([name for name in examination.listeners if name not in examination.skipped]):
            for pairs in (round_, [(end, start) for start, end in round_]):
                _measure_bandwidth(examination, dict(pairs), stop)


def _listen(examination: _Examination, name: str) -> None:
    place, token = examination.host_plans[name], examination.env.entropy(12).hex()
    sshd = place.port if examination.ssh_checks[name] is SshCheck.LOGIN else None
    code, out, err = _ask(examination, name, commands.listen_argv(place.address, token, examination.life_s, sshd))
    if code in (2, 126, 127):
        examination.skipped[name] = old_image_reason(examination.inventory, name, err)
        return
    listener = commands.read_listener(name, place.address, token, out)
    if isinstance(listener, Listener):
        examination.listeners[name] = listener
    else:
        examination.skipped[name] = no_listener_reason(name, listener, err)


def _try_peers(examination: _Examination, name: str) -> None:
    peers = [listener for listener in examination.listeners.values() if listener.host != name]
    order = commands.pairs_argv(examination.listeners[name], peers, examination.port, examination.ssh_checks)
    _, out, err = _ask(examination, name, order)
    answers = commands.read_pairs(out)
    if answers is None:
        examination.skipped[name] = no_listener_reason(name, "its answer is not understood", err)
        return
    examination.answers |= {(name, end): answer for end, answer in answers.items()}


def _measure_bandwidth(examination: _Examination, ends: Mapping[str, str], stop: Callable[[], None]) -> None:
    speeds = examination.speeds if examination.speeds is not None else {}

    def measure(start: str) -> None:
        end = ends[start]
        order = commands.bandwidth_argv(examination.listeners[start], examination.listeners[end])
        speeds[start, end] = commands.read_bandwidth(_ask(examination, start, order)[1])

    examination.each(list(ends), measure, stop)


def _ask(examination: _Examination, name: str, argv: list[str]) -> tuple[int, str, str]:
    from hvdocker.engine.container_exec import exec_in_container

    return exec_in_container(examination.links[name], examination.containers[name], argv)


@contextmanager
def _in_workers(examination: _Examination, present: list[str]) -> Iterator[Callable[[], None]]:
    """Choose the workers as the containers for the checks. Yield a function that ends the listeners in the workers.

    At the end of the `with` block that function is called. Without it the listeners would run on in the workers until
    their time limit. `present` are the hosts to check."""
    from hvdocker.transport.pool import for_each_host

    examination.ssh_checks = dict.fromkeys(present, SshCheck.LOGIN)
    examination.containers = {name: examination.host_plans[name].worker_name for name in present}

    def stop() -> None:
        for_each_host(
            list(examination.listeners),
            lambda name: _ask(examination, name, commands.stop_listener_argv(examination.listeners[name])),
        )

    try:
        yield stop
    finally:
        stop()


@contextmanager
def _in_own_containers(examination: _Examination, present: list[str]) -> Iterator[Callable[[], None]]:
    from hvdocker.doctor.pairs.probe_containers import remove_probe_container
    from hvdocker.transport.pool import for_each_host

    examination.ssh_checks = _choose_ssh_checks(examination, present)
    name_of_all = names.doctor_name(examination.inventory.cluster)
    begun: dict[str, str] = {}

    def stop() -> None:
        outcomes = for_each_host(list(begun), lambda name: remove_probe_container(examination.links[name], begun[name]))
        for name, error in outcomes.failed.items():
            text = f"{name_of_all} could not be removed ({error.what}); it ends by itself"
            examination.env.listener(Event("note", f"{name}: {text}"))

    try:
        _open_all(examination, present, begun, stop)
        yield stop
    finally:
        stop()


def _choose_ssh_checks(examination: _Examination, present: list[str]) -> dict[str, SshCheck]:
    held = port_conflicts(examination.state, examination.host_plans)
    taken = {name for name in present if examination.port in examination.host_plans[name].seen.listening_ports}
    return {
        name: SshCheck.HELD if name in held else SshCheck.GREETING if name in taken else SshCheck.LOGIN
        for name in present
    }


def _open_all(examination: _Examination, present: list[str], begun: dict[str, str], stop: Callable[[], None]) -> None:
    from hvdocker.doctor.pairs.probe_containers import (
        make_probe_keys,
        remove_stale_probe_container,
        start_probe_container,
    )

    keys = make_probe_keys(
        examination.inventory.cluster, [examination.host_plans[name] for name in present], examination.port
    )
    maker = examination.env.maker()

    def begin(name: str) -> None:
        place = examination.host_plans[name]
        has_sshd = examination.ssh_checks[name] is SshCheck.LOGIN
        spec = doctor_spec(examination.inventory, place, maker, has_sshd, examination.life_s)
        remove_stale_probe_container(examination.links[name], spec.name, place.seen.containers)
        start_probe_container(examination.links[name], spec, place, keys, lambda made: begun.update({name: made}))
        examination.containers[name] = spec.name

    examination.each(present, begin, stop)
