"""What should be alike on all hosts. A finding is about all of them; its evidence says who is how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hvdocker.doctor.facts.facts import HostHealth
from hvdocker.doctor.judges.cluster import short
from hvdocker.doctor.judges.finding import bad, good, warn
from hvdocker.doctor.report import Finding
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ContainerSeen, HostSeen

Judge = Callable[..., Finding]
# What has to be the same for ranks to understand each other, and what should be.
MUST_MATCH = ("tensorflow", "horovod", "nccl", "torch")
SHOULD_MATCH = ("python", "keras", "numpy")


def judge_across(
    inventory: Inventory, healths: Mapping[str, HostHealth], up: str, retrain: str
) -> Iterator[Finding]:
    seen = {name: health.seen for name, health in healths.items() if health.seen}
    if len(seen) < 2:
        return
    yield from _images(inventory, seen, up)
    codes = {name: h.code.hash[:12] for name, h in healths.items() if h.code and h.code.hash}
    yield from _alike("same code", codes, warn, "hosts hold different code", retrain)
    yield from _versions(healths, up)
    yield from _gpus(healths)
    engines = {name: one.engine.version.split(".")[0] for name, one in seen.items()}
    yield from _alike("same engine", engines, warn, "engines are generations apart", "upgrade the older ones")
    kernels = {n: ".".join(h.machine.kernel.split(".")[:2]) for n, h in healths.items() if h.machine}
    yield good("same kernel", " · ".join(sorted(set(kernels.values()))))


def _images(inventory: Inventory, seen: Mapping[str, HostSeen], up: str) -> Iterator[Finding]:
    """By content. Where workers run different builds nothing can be trained; else `up` makes it right."""
    contents = {name: _content(name, host) for name, host in seen.items()}
    known = {name: content for name, content in contents.items() if content}
    running = {name for name, host in seen.items() if (worker := host.worker(name)) and worker.is_running}
    judge = bad if len({known[name] for name in running if name in known}) > 1 else warn
    what = f"hosts have different builds of {inventory.image}"
    yield from _alike("same image", known, judge, what, up)


def _content(name: str, host: HostSeen) -> str | None:
    """Of the image that the worker runs, else of the one that it would run."""
    worker = host.worker(name)
    if worker is None:
        return short(host.image.content) if host.image else None
    if host.image and _is_of(worker, host):
        return short(host.image.content)
    return f"{short(worker.image_id)} (its worker's own)"


def _is_of(worker: ContainerSeen, host: HostSeen) -> bool:
    assert host.image is not None
    return worker.image_id == host.image.id or worker.base == host.image.content


def _versions(healths: Mapping[str, HostHealth], up: str) -> Iterator[Finding]:
    trials = {n: h.trial for n, h in healths.items() if h.trial and not h.trial.is_other}
    inside = {name: trial.inside.versions for name, trial in trials.items() if trial.inside}
    for package in (*MUST_MATCH, *SHOULD_MATCH):
        found = {name: versions[package] for name, versions in inside.items() if package in versions}
        if found and package in MUST_MATCH:
            found = {name: versions.get(package, "none") for name, versions in inside.items()}
        judge = bad if package in MUST_MATCH else warn
        yield from _alike(f"same {package}", found, judge, f"hosts have different {package}", up)


def _gpus(healths: Mapping[str, HostHealth]) -> Iterator[Finding]:
    machines = {name: health.machine for name, health in healths.items() if health.machine}
    if not any(machine.gpus for machine in machines.values()):
        return
    models = {n: ", ".join(sorted({g.model for g in m.gpus})) or "none" for n, m in machines.items()}
    slow = "every step waits for the slowest card: leave the odd host out of the inventory"
    yield from _alike("same gpus", models, warn, "hosts have different GPUs", slow)
    drivers = {n: m.gpus[0].driver for n, m in machines.items() if m.gpus}
    fix = "install the same driver everywhere"
    yield from _alike("same driver", drivers, warn, "hosts have different NVIDIA drivers", fix)


def _alike(check: str, values: Mapping[str, str], judge: Judge, what: str, fix: str) -> Iterator[Finding]:
    """Nothing where nobody has it; evidence groups hosts by what they have."""
    if not values:
        return
    groups: dict[str, list[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, []).append(name)
    if len(groups) == 1:
        yield good(check, next(iter(groups)))
        return
    lines = [f"{', '.join(hosts)}: {value}" for value, hosts in groups.items()]
    yield judge(check, what, lines, fix=fix)
