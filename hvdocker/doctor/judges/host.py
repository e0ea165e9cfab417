"""Calls the judges of one host by subject: connection, engine, machine, GPUs, cluster, network. Pure.

The interfaces of all hosts are judged together before, from doctor.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker.doctor.facts.facts import HostFacts
from hvdocker.doctor.judges.cluster import judge_code, judge_image, judge_leftovers, judge_worker
from hvdocker.doctor.judges.connection import judge_connection
from hvdocker.doctor.judges.container import judge_container
from hvdocker.doctor.judges.engine import judge_confinement, judge_engine
from hvdocker.doctor.judges.finding import error_finding, good
from hvdocker.doctor.judges.gpu import judge_cuda, judge_gpus, judge_toolkit
from hvdocker.doctor.judges.host_names import judge_names
from hvdocker.doctor.judges.machine import judge_clock, judge_cpu, judge_disks, judge_infiniband, judge_memory
from hvdocker.doctor.report import Finding, HostReport, Mark
from hvdocker.errors import ChannelRefused, HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.scope_label import up_command

# Disk space for the layers, and for the archive of the layer that is being loaded: at most twice the image.
LOADING_FACTOR = 2.05


@dataclass(frozen=True)
class FixCommands:
    """The hvdocker commands that findings suggest as fixes.

    `flag` is the flag that names this inventory (` -i FILE`), empty if none is needed. `cluster_flag` is used instead
    in commands about one cluster: it may also have `--cluster NAME`. If it is empty, `flag` is used there too. Both
    begin with a space unless empty. `scope_label` is the JSON of the label `hvdocker.asked` (`{"np":6}` for `up -np
    6`). With it, the suggested `up` repeats the flags that chose the slots. It is empty if `up` was given no such flag,
    or if there are no workers."""

    flag: str = ""
    cluster_flag: str = ""
    scope_label: str = ""

    @property
    def cluster(self) -> str:
        return self.cluster_flag or self.flag

    @property
    def up(self) -> str:
        return f"{up_command(self.scope_label)}{self.cluster}"

    @property
    def push(self) -> str:
        return f"hvdocker image push{self.flag}"

    @property
    def down(self) -> str:
        return f"hvdocker down{self.cluster}"

    @property
    def retrain(self) -> str:
        return f"bring the same code everywhere: hvdocker train{self.cluster} --checksum SCRIPT"


@dataclass(frozen=True)
class JudgeInput:
    """One host and everything that its judges need.

    `health` has the facts. `fix_commands` are the commands to suggest as fixes. `place` is the host's plan, None if it
    cannot be planned. `problems` are the planner's errors by check. `missing_image_bytes` is the size of the image that
    the host lacks, 0 if the host has it or the size is unknown. `is_up`: the host has a worker or should have one.
    `why_new` is why `up` would replace the worker, or None. `network` is the finding about the host's interfaces, None
    if they were not examined. `addresses` are the training addresses of all planned hosts, by host."""

    inventory: Inventory
    host: Host
    health: HostFacts
    fix_commands: FixCommands = FixCommands()
    place: HostPlan | None = None
    problems: Mapping[str, tuple[HvdockerError, ...]] = field(default_factory=dict)
    missing_image_bytes: int = 0
    is_up: bool = False
    why_new: str | None = None
    network: Finding | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)


def judge_host(case: JudgeInput) -> HostReport:
    findings = judge_connection(case.host, case.health.connect_error, case.health.login)
    if case.health.connect_error is None:
        findings += [*_engine(case), *_machine(case), *_gpu(case), *_cluster(case), *_network(case)]
        findings += [_missing_fact(error) for error in case.health.failures]
    return HostReport(case.host.name, tuple(findings))


def _missing_fact(error: HvdockerError) -> Finding:
    """Return the finding for a fact that could not be gathered, because of `error`.

    The finding is BAD if the host became unreachable meanwhile. It is also BAD if the host's SSH server refused a
    session, because the server would refuse the sessions of `up` and `train` too. Otherwise it is UNKNOWN."""
    if isinstance(error, ChannelRefused):
        return error_finding("login", error)
    is_lost = isinstance(error, HostUnreachable)
    return error_finding("answers" if is_lost else "unseen", error, Mark.BAD if is_lost else Mark.UNKNOWN)


def _engine(case: JudgeInput) -> Iterator[Finding]:
    health = case.health
    if health.observe_error:
        check = "answers" if isinstance(health.observe_error, HostUnreachable) else "engine"
        yield error_finding(check, health.observe_error)
    if health.seen and health.engine:
        yield from judge_engine(health.seen, health.engine)
        if health.machine:
            yield from judge_confinement(health.machine, health.engine)


def _machine(case: JudgeInput) -> Iterator[Finding]:
    machine = case.health.machine
    if machine is None:
        return
    slots = case.place.slots if case.place else case.host.slots or 1
    yield judge_memory(machine, case.inventory)
    cpus = judge_cpu(machine, slots)
    yield next((error_finding("cpu", error) for error in case.problems.get("cpu", ())), cpus)
    yield judge_clock(case.health.clock)
    yield from judge_disks(machine, _bytes_to_load(case))
    yield from (error_finding("mounts", error) for error in case.problems.get("mounts", ()))
    if case.place and case.inventory.mounts and not case.problems.get("mounts"):
        yield good("mounts", "all there")


def _bytes_to_load(case: JudgeInput) -> int:
    """Estimate how many bytes of disk the engine needs to load the image that it lacks.

    Return 0 if it has the image or the size is unknown. The estimate is LOADING_FACTOR times the size of the image:
    while a layer is loaded, its archive is on the disk too, and most of an image may be one layer. But if the engine
    may already have most layers, because it has another hvdocker image or because nothing is known about it, the
    estimate is only the size of the image."""
    may_have_layers = case.health.engine is None or case.health.engine.has_own_image
    return int(case.missing_image_bytes * (1 if may_have_layers else LOADING_FACTOR))


def _gpu(case: JudgeInput) -> Iterator[Finding]:
    machine, trial = case.health.machine, case.health.trial
    if machine:
        yield from judge_gpus(machine)
        if case.health.seen and (toolkit := judge_toolkit(machine, trial, case.fix_commands.push)):
            yield toolkit
        if machine.gpus and trial and trial.inside and not trial.is_substitute:
            yield judge_cuda(machine.gpus[0].driver, trial.inside.cuda)
    if case.health.seen:
        yield from judge_container(trial, machine)


def _cluster(case: JudgeInput) -> Iterator[Finding]:
    seen = case.health.seen
    if seen is None:
        return
    if "port" in case.problems:
        yield from (error_finding("port", error) for error in case.problems["port"])
    elif case.place and not case.host.is_local:
        worker = seen.worker(case.host.name)
        whose = "held by its own worker" if worker and worker.is_running else "free"
        yield good("port", f"{case.place.port} {whose}")
    if "image" in case.problems:
        yield from (error_finding("image", error) for error in case.problems["image"])
    else:
        yield judge_image(case.inventory, seen, case.fix_commands.push)
    if "worker" in case.problems:
        yield from (error_finding("worker", error) for error in case.problems["worker"])
    else:
        foreign_container = case.health.engine.foreign_container if case.health.engine else None
        yield judge_worker(
            seen.worker(case.host.name), case.is_up, case.why_new, case.fix_commands.up, foreign_container
        )
    if case.health.code:
        yield judge_code(case.health.code, case.fix_commands.retrain)
    yield from judge_leftovers(case.inventory, case.health, case.fix_commands.down, case.fix_commands.flag)


def _network(case: JudgeInput) -> Iterator[Finding]:
    for check in ("address", "architecture"):
        yield from (error_finding(check, error) for error in case.problems.get(check, ()))
    if case.place and not case.problems.get("address"):
        yield good("address", case.place.address)
    if case.network:
        yield case.network
    machine = case.health.machine
    if machine is None:
        return
    if not case.host.is_local:
        yield judge_names(machine, case.host, case.inventory.hosts, case.addresses)
    if infiniband := judge_infiniband(machine):
        yield infiniband
