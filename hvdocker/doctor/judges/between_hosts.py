"""Compares hosts with each other.

Each finding compares one fact of all hosts where the fact is known. If the values differ, the evidence lists each value
with its hosts. Different kernel versions are shown, but are no problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hvdocker.doctor.facts.facts import HostFacts
from hvdocker.doctor.judges.cluster import short
from hvdocker.doctor.judges.finding import bad, good, warn
from hvdocker.doctor.report import Finding
from hvdocker.inventory.inventory import Inventory
from hvdocker.launchers import LAUNCHERS
from hvdocker.observe.state import ContainerSeen, HostSeen

MakeFinding = Callable[..., Finding]
# Ranks work together only with equal versions of MUST_MATCH. Different versions of SHOULD_MATCH are a warning.
MUST_MATCH = tuple(dict.fromkeys(package for launcher in LAUNCHERS for package in launcher.packages))
SHOULD_MATCH = ("python", "keras", "numpy")


def judge_between_hosts(
    inventory: Inventory, facts_by_host: Mapping[str, HostFacts], up_command: str, retrain: str
) -> Iterator[Finding]:
    """Yield the findings that compare hosts. There are none if fewer than two hosts were observed.

    `facts_by_host` has the facts by host. `up_command` (`hvdocker up`) and `retrain` (advice to run `hvdocker train`
    again, which syncs the code) are shown as fixes."""
    seen = {name: health.seen for name, health in facts_by_host.items() if health.seen}
    if len(seen) < 2:
        return
    yield from _images(inventory, seen, up_command)
    codes = {name: h.code.hash[:12] for name, h in facts_by_host.items() if h.code and h.code.hash}
    yield from _compare("same code", codes, warn, "hosts hold different code", retrain)
    yield from _versions(facts_by_host, up_command)
    yield from _gpus(facts_by_host)
    engines = {name: one.engine.version.split(".")[0] for name, one in seen.items()}
    yield from _compare("same engine", engines, warn, "engines are generations apart", "upgrade the older ones")
    kernels = {n: ".".join(h.machine.kernel.split(".")[:2]) for n, h in facts_by_host.items() if h.machine}
    yield good("same kernel", " · ".join(sorted(set(kernels.values()))))


def _images(inventory: Inventory, seen: Mapping[str, HostSeen], up_command: str) -> Iterator[Finding]:
    """Compare the images of the observed hosts (`seen`) by content. `up_command` is the command to suggest as the fix.

    Different images are BAD if workers already run from them. Otherwise they are a WARN, because `up` fixes
    it."""
    contents = {name: _content(name, host) for name, host in seen.items()}
    known = {name: content for name, content in contents.items() if content}
    running = {name for name, host in seen.items() if (worker := host.worker(name)) and worker.is_running}
    judge = bad if len({known[name] for name in running if name in known}) > 1 else warn
    what = f"hosts have different builds of {inventory.image}"
    yield from _compare("same image", known, judge, what, up_command)


def _content(name: str, host: HostSeen) -> str | None:
    """Return a short text that identifies the image of the host's worker, or None if the host has no image.

    `name` is the host's name. The text is the content hash of the cluster's image on the host, if the worker runs from
    that image or the host has no worker yet. Otherwise the text is the id of the image from which the worker runs."""
    worker = host.worker(name)
    if worker is None:
        return short(host.image.content) if host.image else None
    if host.image and _runs_host_image(worker, host):
        return short(host.image.content)
    return f"{short(worker.image_id)} (its worker's own)"


def _runs_host_image(worker: ContainerSeen, host: HostSeen) -> bool:
    assert host.image is not None
    return worker.image_id == host.image.id or worker.base_content == host.image.content


def _versions(facts_by_host: Mapping[str, HostFacts], up_command: str) -> Iterator[Finding]:
    trials = {n: h.trial for n, h in facts_by_host.items() if h.trial and not h.trial.is_substitute}
    inside = {name: trial.inside.versions for name, trial in trials.items() if trial.inside}
    for package in (*MUST_MATCH, *SHOULD_MATCH):
        found = {name: versions[package] for name, versions in inside.items() if package in versions}
        if found and package in MUST_MATCH:
            found = {name: versions.get(package, "none") for name, versions in inside.items()}
        judge = bad if package in MUST_MATCH else warn
        yield from _compare(f"same {package}", found, judge, f"hosts have different {package}", up_command)


def _gpus(facts_by_host: Mapping[str, HostFacts]) -> Iterator[Finding]:
    machines = {name: health.machine for name, health in facts_by_host.items() if health.machine}
    if not any(machine.gpus for machine in machines.values()):
        return
    models = {n: ", ".join(sorted({g.model for g in m.gpus})) or "none" for n, m in machines.items()}
    slow = "every step waits for the slowest card: leave the odd host out of the inventory"
    yield from _compare("same gpus", models, warn, "hosts have different GPUs", slow)
    drivers = {n: m.gpus[0].driver for n, m in machines.items() if m.gpus}
    fix = "install the same driver everywhere"
    yield from _compare("same driver", drivers, warn, "hosts have different NVIDIA drivers", fix)


def _compare(check: str, values: Mapping[str, str], judge: MakeFinding, what: str, fix: str) -> Iterator[Finding]:
    """Yield one finding on whether all hosts have the same value. Yield nothing if `values` (by host) is empty.

    `check` is the name of the check, such as `same image`. Equal values are GOOD. If values differ, `judge` makes
    the finding (`warn` or `bad`) with the text `what` and the advice `fix`."""
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
