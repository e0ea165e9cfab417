"""Observes the hosts: one probe and a few engine calls per host, all hosts in parallel. Changes nothing.

On a host, starting processes and examining mounts take time; the size of the answers does not matter. So the probe
starts few processes, and the engine is asked only for what is not known otherwise."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from hvdocker import names
from hvdocker.errors import CommandTimeout, HostUnfit, HvdockerError, raise_all
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.cluster_image import image_of_cluster
from hvdocker.observe.engine import EngineAnswers, ask_engine, see_controller, see_image, see_own_and_other_containers
from hvdocker.observe.gpu_query import HUNG_ERROR, NVIDIA_SMI_TIMEOUT_S, GpuAnswer, count_gpus, query_gpus, read_gpus
from hvdocker.observe.probe import ProbeAnswer, listeners, listening_ports, probe, reached_address, read_probe
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import HostOutcomes, for_each_host
from hvdocker.transport.ssh.link import EngineAccess, SshLink

PROBE_TIMEOUT_S = 30.0
GPU_TIMEOUT_S = NVIDIA_SMI_TIMEOUT_S + 2.0
# The Debian package of each tool whose package does not have the tool's name.
_DEBIAN_PACKAGES = {"sha256sum": "coreutils", "stat": "coreutils", "find": "findutils", "xargs": "findutils"}


def observe_hosts(
    inventory: Inventory, links: Mapping[str, HostLink], without_gpus: Collection[str] = ()
) -> HostOutcomes[HostSeen]:
    """Observe every host in `links`. Hosts that fail are in `HostOutcomes.failed`.

    On hosts in `without_gpus` the NVIDIA driver is not queried, because it is known to hang or because the caller
    does not need the GPUs."""
    return for_each_host(links, lambda name: _observe_host(inventory, links[name], name not in without_gpus))


def whole_state(inventory: Inventory, links: Mapping[str, HostLink], with_images: bool = True) -> ClusterState:
    """Observe all hosts in `links` and return their state. All hosts must be usable.

    Raises the error of a host that cannot be used, or HostErrors if there are several. `with_images`: also look for the
    cluster's image on the controller."""
    state, failed = partial_state(inventory, links, with_images)
    raise_all("some hosts cannot be used", list(failed.values()))
    return state


def partial_state(
    inventory: Inventory, links: Mapping[str, HostLink], with_images: bool = True, without_gpus: Collection[str] = ()
) -> tuple[ClusterState, Mapping[str, HvdockerError]]:
    """Observe all hosts in `links`. Return the state of the hosts that can be used, and the errors of the others by
    name.

    `with_images`: also look for the cluster's image on the controller. On hosts in `without_gpus` the NVIDIA driver is
    not queried."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        here = pool.submit(see_controller, inventory, with_images)
        outcomes = observe_hosts(inventory, links, without_gpus)
    return replace(here.result(), hosts=_in_inventory_order(inventory, outcomes.done)), outcomes.failed


def cluster_state(inventory: Inventory, hosts: Mapping[str, HostSeen], with_images: bool) -> ClusterState:
    """Return the state of `hosts`, which were observed before, and of the controller, which is observed now.

    `with_images`: also look for the cluster's image on the controller."""
    return replace(see_controller(inventory, with_images), hosts=_in_inventory_order(inventory, hosts))


def refresh_state(inventory: Inventory, links: Mapping[str, HostLink], before: ClusterState) -> ClusterState:
    """Observe again what other users may have changed meanwhile: containers, the image and listening ports.

    All other facts about a host are taken from `before`. The ports are taken from there too, if the same containers run
    on the host: another hvdocker process opens ports only with containers. Another program may open a port at any time;
    a later step of `up`, the wait for the worker's sshd, finds that out. `up` calls this function if it got its locks
    without waiting, except for a local cluster. Raises HvdockerError if a host does not answer."""

    def look(name: str) -> HostSeen:
        link = links[name]
        with translating_errors(name, "looking at the host again"):
            own, others = see_own_and_other_containers(link.engine(), inventory.cluster)
            image = see_image(link.engine(), image_of_cluster(inventory, own))
            seen = before.hosts[name]
            is_same = _running_ids(own, others) == _running_ids(seen.containers, seen.other_containers)
            ports = seen.listening_ports if is_same else _listening_ports(link, inventory, own)
        return replace(seen, containers=own, other_containers=others, image=image, listening_ports=ports)

    found = for_each_host(before.hosts, look).or_raise("some hosts cannot be used")
    return replace(before, hosts=_in_inventory_order(inventory, found))


def _running_ids(*groups: Iterable[ContainerSeen]) -> set[str]:
    return {seen.id for group in groups for seen in group if seen.is_running}


def refresh_containers(inventory: Inventory, links: Mapping[str, HostLink], before: ClusterState) -> ClusterState:
    """Observe only the containers again, with one engine call per host. All other facts about a host are taken from
    `before`.

    The labels of the containers say which jobs hold slots. Raises HvdockerError if a host does not answer."""

    def look(name: str) -> HostSeen:
        with translating_errors(name, "looking at its containers"):
            own, others = see_own_and_other_containers(links[name].engine(), inventory.cluster)
        return replace(before.hosts[name], containers=own, other_containers=others)

    found = for_each_host(before.hosts, look).or_raise("some hosts do not answer")
    return replace(before, hosts=_in_inventory_order(inventory, found))


def _in_inventory_order(inventory: Inventory, hosts: Mapping[str, HostSeen]) -> dict[str, HostSeen]:
    return {host.name: hosts[host.name] for host in inventory.hosts if host.name in hosts}


def count_gpus_on_hosts(links: Mapping[str, HostLink]) -> Mapping[str, int]:
    """Return the number of GPUs by host.

    A host whose driver hangs counts as having one GPU. A host that cannot be asked is left out: a later, full
    observation reports why."""

    def count(name: str) -> int:
        try:
            answer = read_probe(links[name].run(count_gpus(), timeout_s=GPU_TIMEOUT_S).text)
        except CommandTimeout:
            return 1
        return answer.number("count", 0)

    return for_each_host(links, count).done


def see_gpus(link: HostLink) -> GpuAnswer:
    """Query nvidia-smi on a host, and return its GPUs. If nvidia-smi does not answer in time, `error` of the result is
    HUNG_ERROR."""
    try:
        return read_gpus(link.run(query_gpus(), timeout_s=GPU_TIMEOUT_S).text)
    except CommandTimeout:
        return GpuAnswer(error=HUNG_ERROR)


def _probe_and_ask_engine(
    inventory: Inventory, link: HostLink, with_gpus: bool, pool: ThreadPoolExecutor
) -> tuple[ProbeAnswer, EngineAnswers, Future[GpuAnswer] | None]:
    """Probe the host, ask its engine, and start the GPU query in the thread pool `pool`.

    Return the answers of the probe and of the engine, and the GPU query, which may still run. The GPU query is None if
    the host has no nvidia-smi or `with_gpus` is False. To save time, the engine is asked at its usual socket while the
    probe still looks for the actual socket. If the actual socket is another one, or the first try failed, the engine is
    asked again."""
    guess = pool.submit(ask_engine, link, inventory)
    answer = _probe(link, inventory)
    cards = pool.submit(see_gpus, link) if with_gpus and "smi" in answer.values else None
    wait([guess])
    is_right = link.use_engine(choose_engine_access(answer, link)) if isinstance(link, SshLink) else True
    told = guess.result() if is_right and guess.exception() is None else ask_engine(link, inventory)
    if told.info is None and "memory" not in answer.values:
        told = replace(told, info=link.engine().info())
    return answer, told, cards


def _observe_host(inventory: Inventory, link: HostLink, with_gpus: bool = True) -> HostSeen:
    with translating_errors(link.name, "looking at the host"), ThreadPoolExecutor(max_workers=2) as pool:
        answer, told, cards = _probe_and_ask_engine(inventory, link, with_gpus, pool)
        seen = HostSeen(
            name=link.name,
            uid=_required_number(answer, "uid"),
            gid=_required_number(answer, "gid"),
            home=answer.values.get("home", ""),
            engine=told.engine(answer),
            reached_at=reached_address(answer),
            addresses=tuple(dict.fromkeys(answer.all("address"))),
            listening_ports=_listening_ports(link, inventory, told.containers, answer),
            missing_paths=tuple(answer.all("missing")),
            unreadable_paths=tuple(answer.all("unreadable")),
            boot_id=answer.values.get("boot", ""),
            image=told.image,
            containers=told.containers,
            other_containers=told.other_containers,
            job_folders=tuple(answer.all("job")),
            cluster_dir=answer.values.get("clusterdir"),
            members_line=answer.values.get("members", ""),
            home_free_bytes=_kilobytes(answer, "homefree"),
            needs_sudo=isinstance(link, SshLink) and link.needs_sudo,
            groups=_supplementary_groups(answer),
        )
        return _with_gpus(seen, cards.result()) if cards else seen


def _with_gpus(seen: HostSeen, found: GpuAnswer) -> HostSeen:
    return replace(seen, gpus=found.gpus, gpu_error=found.error, gpu_notes=found.notes)


def _listening_ports(
    link: HostLink, inventory: Inventory, seen: Iterable[ContainerSeen], probed: ProbeAnswer | None = None
) -> frozenset[int]:
    """Return the TCP ports on which processes of the host listen. `seen` are the cluster's containers on the host.

    If the host's own worker runs on the cluster's port, no other process can hold that port. Then only that port is
    returned. Otherwise the host is asked, unless its answer to the probe (`probed`) has the ports."""
    for container in seen:
        port = container.labels.get(names.LABEL_PORT, "")
        is_own = container.role == names.ROLE_WORKER and container.host == link.name
        if is_own and container.is_running and port.isdigit() and port == str(inventory.port or port):
            return frozenset({int(port)})
    if probed is None or "ports" not in probed.values:
        probed = read_probe(link.run(listeners(), timeout_s=PROBE_TIMEOUT_S).text)
    return listening_ports(probed)


def find_engine(link: HostLink) -> None:
    """Find out how the host's engine is reached (socket or sudo) and store that in the link.

    This is for callers that need the engine but no other fact about the host. Raises HostUnfit if the engine cannot be
    reached. Does nothing if the link is not an SshLink, as in a local cluster (all workers on the controller)."""
    if isinstance(link, SshLink):
        link.use_engine(choose_engine_access(_run_probe(link, "", []), link))


def _probe(link: HostLink, inventory: Inventory) -> ProbeAnswer:
    return _run_probe(link, inventory.cluster, [mount.source for mount in inventory.mounts])


def _run_probe(link: HostLink, cluster: str, paths: Iterable[str]) -> ProbeAnswer:
    words = probe(cluster, link.name, paths)
    result = link.run(words, timeout_s=PROBE_TIMEOUT_S)
    answer = read_probe(result.text)
    if not answer.is_complete:
        raise HostUnfit(
            "the host could not be probed: its shell did not run our script",
            lines=result.tail() or ["it said nothing"],
            fix="a POSIX sh has to be on the PATH",
        )
    if answer.all("lacks"):
        raise _missing_tools_error(answer.all("lacks"))
    return answer


def _missing_tools_error(tools: list[str]) -> HostUnfit:
    packages = sorted({_DEBIAN_PACKAGES.get(tool, tool) for tool in tools})
    return HostUnfit(
        f"the host lacks {', '.join(tools)}",
        command=shlex.join(("command", "-v", *tools)),
        lines=[f"{tool} is not on the PATH" for tool in tools],
        fix=shlex.join(("sudo", "apt-get", "install", *packages)),
    )


def choose_engine_access(answer: ProbeAnswer, link: SshLink) -> EngineAccess:
    """Return how to reach the engine: by its socket if this user may open it, else by the docker CLI with passwordless
    sudo.

    `answer` is the output of the probe; `link` only gives the host's name for errors. Raises HostUnfit if neither is
    possible."""
    sockets = answer.all("socket")
    for line in sockets:
        verdict, _, path = line.partition(" ")
        if verdict == "ok":
            return EngineAccess(socket=path, has_cli="cli" in answer.values)
    has_cli, has_sudo = "cli" in answer.values, "sudo" in answer.values
    if sockets and has_cli and has_sudo:
        return EngineAccess(socket=sockets[0].partition(" ")[2], uses_cli=True, needs_sudo=True)
    if sockets:
        raise _denied_error(sockets[0].partition(" ")[2], answer, link.name)
    raise HostUnfit(
        "no Docker engine is running: there is no Docker socket",
        host=link.name,
        command="docker version",
        lines=["the docker CLI is there, the engine is not" if has_cli else "docker is not installed"],
        fix=_engine_fix(answer, has_cli, has_sudo),
    )


def _engine_fix(answer: ProbeAnswer, has_cli: bool, has_sudo: bool) -> str:
    """Return the command, shown to the user as a fix, that installs or starts a Docker engine on the host.

    If the SSH user could not use the engine even then, the command also puts that user into the group docker.
    `answer` is the output of the probe. `has_cli` says whether docker is installed, `has_sudo` whether sudo works
    without a password."""
    start = "sudo systemctl start docker" if has_cli else "sudo apt-get install docker.io"
    may_open = has_sudo or "dockergroup" in answer.values or answer.number("uid", 0) == 0
    both = start if may_open else f"{start} && {_join_docker_group(answer)}"
    return both if has_cli else f"install Docker: {both}"


def _join_docker_group(answer: ProbeAnswer) -> str:
    """Return the command that puts the SSH user into the group docker.

    The command names the SSH user instead of `$USER`, because often another user has to run it with sudo."""
    user = answer.values.get("user", "")
    is_named = bool(user) and not user.startswith("uid=")
    return f"sudo usermod -aG docker {shlex.quote(user) if is_named else '$USER'}"


def _required_number(answer: ProbeAnswer, key: str) -> int:
    """Return the number with the key `key`, such as `uid`, in `answer`, the output of the probe.

    The probe always prints such a number. Raises HostUnfit if it is missing, because a default would be dangerous: user
    0 is root."""
    number = answer.number(key, -1)
    if number < 0:
        said = f"{key}: {answer.values.get(key, 'missing')}"
        raise HostUnfit(
            "the host could not be probed: `id` did not say who the SSH user is", command="id", lines=[said]
        )
    return number


def _supplementary_groups(answer: ProbeAnswer) -> tuple[int, ...]:
    """Return the ids of the supplementary groups of the SSH user, in ascending order.

    They are read from `answer`, the output of the probe. The primary group and root's group are left out."""
    numbers = {int(word) for word in answer.values.get("groups", "").split() if word.isdigit()}
    return tuple(sorted(numbers - {0, answer.number("gid", 0)}))


def _kilobytes(answer: ProbeAnswer, key: str) -> int | None:
    found = answer.number(key, -1)
    return found * 1024 if found >= 0 else None


def _denied_error(socket: str, answer: ProbeAnswer, host: str) -> HostUnfit:
    """Return the error for a user who may not open the engine's socket. `socket` is its path, `host` the host's name.

    `answer` is the output of the probe. It has the message with which sudo refused, if the host has sudo. The fix does
    not tell the user to log in again, because every hvdocker command opens a new connection."""
    what, sudo_said = "this user may not open the Docker socket", answer.values.get("nosudo", "")
    join = _join_docker_group(answer)
    fix = f"on the host: {join} (or allow passwordless sudo)"
    if "tty" in sudo_said:
        what += ", and sudo works on a terminal only (requiretty)"
        fix = f"on the host: {join}, or with visudo: Defaults !requiretty"
    lines = [f"permission denied: {socket}", *([sudo_said] if sudo_said else [])]
    return HostUnfit(what, host=host, command="docker version", lines=lines, fix=fix)
