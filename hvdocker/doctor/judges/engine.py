"""Judges the Docker engine: version, socket, storage driver, and SELinux or AppArmor confinement. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from hvdocker.cluster.plan.engine_kinds import engine_kind_problem
from hvdocker.cluster.plan.fitness import OLDEST_ENGINE, UPGRADE_ENGINE_FIX, is_too_old, version_numbers
from hvdocker.doctor.facts.facts import EngineState, MachineSeen
from hvdocker.doctor.judges.finding import bad, error_finding, good, warn
from hvdocker.doctor.report import Finding
from hvdocker.observe.state import HostSeen

# Types of SELinux labels that confined containers may read.
_CONTAINER_TYPES = {"container_file_t", "container_share_t", "container_ro_file_t", "svirt_sandbox_file_t"}
# Older engines work as far as we know, but they no longer get fixes.
OLDEST_TESTED = "20.10"


def judge_engine(seen: HostSeen, engine: EngineState) -> Iterator[Finding]:
    yield _version(seen.engine.version)
    yield _socket(seen, engine)
    yield _storage(engine)
    yield good("cgroup", f"v{engine.cgroup_version} by {engine.cgroup_driver}")


def _version(version: str) -> Finding:
    if is_too_old(version):
        needed = f"at least {OLDEST_ENGINE} is needed"
        return bad("engine", f"{version} is too old", [needed], "docker version", UPGRADE_ENGINE_FIX)
    if (19,) <= version_numbers(version) < version_numbers(OLDEST_TESTED):
        tried = f"tried from {OLDEST_TESTED} on"
        return warn("engine", f"{version} is old", [tried], "docker version", UPGRADE_ENGINE_FIX)
    return good("engine", version)


def _socket(seen: HostSeen, engine: EngineState) -> Finding:
    if problem := engine_kind_problem(engine.security, engine.root_dir):
        return error_finding("socket", problem)
    if seen.needs_sudo:
        return warn(
            "socket",
            "only through sudo",
            ["every request to the engine starts sudo and the docker CLI"],
            "ls -l /var/run/docker.sock",
            "sudo usermod -aG docker $USER",
        )
    return good("socket", "open")


def _storage(engine: EngineState) -> Finding:
    driver = engine.storage_driver
    shown = f"{driver} on {engine.backing}" if engine.backing else driver
    reasons = {
        "vfs": "vfs copies the whole image for every container: slow, and many times its size on disk",
        "devicemapper": "devicemapper is slow, and gone from newer engines",
        "aufs": "aufs is gone from newer engines",
    }
    if driver in reasons:
        fix = 'set "storage-driver": "overlay2" in /etc/docker/daemon.json and restart docker'
        return warn("storage", shown, [reasons[driver]], "docker info --format '{{.Driver}}'", fix)
    return good("storage", shown)


def judge_confinement(machine: MachineSeen, engine: EngineState) -> Iterator[Finding]:
    """Yield a finding about SELinux if the kernel has it, and one about AppArmor if the kernel has it."""
    if machine.is_selinux_enforcing is not None:
        yield _selinux(machine, engine)
    if machine.has_apparmor:
        yield _apparmor(machine, engine)


def _selinux(machine: MachineSeen, engine: EngineState) -> Finding:
    if not machine.is_selinux_enforcing:
        return good("selinux", "permissive")
    if not engine.has("selinux"):
        return good("selinux", "enforcing, containers are not confined")
    closed = [path for path, label in machine.contexts.items() if not _CONTAINER_TYPES & set(label.split(":"))]
    if not closed:
        return good("selinux", "enforcing, containers may read our folders")
    own = [path for path in closed if path.endswith("/.hvdocker")]
    label = f"mkdir -p {shlex.quote(own[0])} && chcon -Rt container_file_t {shlex.quote(own[0])}" if own else ""
    # Never relabel mounts in a fix command: relabelling /home or /etc would lock users out of the host.
    others = [path for path in closed if path not in own]
    mounts = f"give {', '.join(others)} a label that containers may read" if others else ""
    return bad(
        "selinux",
        "enforcing: containers may not read folders of the host",
        [f"{path}: {machine.contexts[path] or 'not there yet'}; containers may not read that" for path in closed],
        "getenforce; docker info --format '{{.SecurityOptions}}'",
        "; ".join(filter(None, (label, mounts))),
    )


def _apparmor(machine: MachineSeen, engine: EngineState) -> Finding:
    if engine.has("apparmor") and not machine.has_apparmor_parser:
        return bad(
            "apparmor",
            "containers cannot start: apparmor_parser is missing",
            ["the kernel has AppArmor, and the engine cannot load its profile docker-default"],
            "ls /sbin/apparmor_parser",
            "sudo apt-get install apparmor && sudo systemctl restart docker",
        )
    return good("apparmor", "docker-default" if engine.has("apparmor") else "containers are not confined")
