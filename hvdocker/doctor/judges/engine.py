"""Judges the Docker engine: version, socket, storage driver, and SELinux or AppArmor confinement. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hvdocker.cluster.plan.fitness import OLDEST_ENGINE, UPGRADE_ENGINE_FIX, is_too_old, version_numbers
from hvdocker.doctor.facts.facts import EngineState, MachineSeen
from hvdocker.doctor.judges.finding import bad, good, warn
from hvdocker.doctor.report import Finding
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import HostSeen

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
    if seen.needs_sudo:
        return warn(
            "socket",
            "only through sudo",
            ["every request to the engine starts sudo and the docker CLI"],
            "ls -l /var/run/docker.sock",
            "sudo usermod -aG docker $USER",
        )
    if engine.has("rootless"):
        return bad(
            "socket",
            "a rootless engine",
            ["its containers live in a network of its own: a worker cannot have the host's address"],
            "docker info",
            "run the cluster on the system's engine: sudo systemctl enable --now docker",
        )
    if engine.has("userns"):
        return bad(
            "socket",
            "the engine maps users (userns-remap)",
            ["files that ranks write belong to nobody on the host, and `--network host` is refused"],
            "docker info",
            'remove "userns-remap" from /etc/docker/daemon.json and restart docker',
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


def judge_confinement(inventory: Inventory, machine: MachineSeen, engine: EngineState) -> Iterator[Finding]:
    """Yield a finding about SELinux if the kernel has it, and one about AppArmor if the kernel has it."""
    if machine.is_selinux_enforcing is not None:
        yield _selinux(inventory, machine, engine)
    if machine.has_apparmor:
        yield _apparmor(machine, engine)


def _selinux(inventory: Inventory, machine: MachineSeen, engine: EngineState) -> Finding:
    if not machine.is_selinux_enforcing:
        return good("selinux", "permissive")
    if not engine.has("selinux"):
        return good("selinux", "enforcing, containers are not confined")
    evidence = ["the engine confines containers (name=selinux), and our folders are mounted without :z"]
    if inventory.mounts:
        # Never relabel mounts in a fix command: relabelling /home or /etc would lock users out of the host.
        sources = ", ".join(mount.source for mount in inventory.mounts)
        evidence.append(f"`mounts:` too need a label that containers may read: {sources}")
    return warn(
        "selinux",
        "enforcing: containers may not read folders of the host",
        evidence,
        "getenforce; docker info --format '{{.SecurityOptions}}'",
        "mkdir -p ~/.hvdocker && chcon -Rt container_file_t ~/.hvdocker",
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
