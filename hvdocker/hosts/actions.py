"""What each kind of step does, in a table."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hvdocker.commands import files
from hvdocker.commands.container import ContainerSpec, create_body
from hvdocker.commands.container_files import MASTER_TAKES, folders, trust_files, worker_files
from hvdocker.commands.ssh_files import FOLDER, FileSpec
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.hosts import archive, code, keys
from hvdocker.hosts.apply import Context
from hvdocker.hosts.build import BuildOptions, build_image, site_ca_bundle
from hvdocker.hosts.images import registry
from hvdocker.hosts.images.shipment import Errand, shipping
from hvdocker.hosts.layer import build_layer
from hvdocker.hosts.link import must
from hvdocker.model import names
from hvdocker.model.seen import image_content
from hvdocker.plan import steps
from hvdocker.plan.steps import Stage

SSHD_DEADLINE_S = 30
PULLED = "pulled"
SSHD_PAUSES_S = (0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.4, 0.4)


@contextmanager
def prepare(stage: Stage, context: Context) -> Iterator[None]:
    """What the hosts of a stage share: an image is saved once, a folder is read and packed once."""
    ships = [step for step in stage.steps if isinstance(step, steps.ShipImage)]
    syncs = [step for step in stage.steps if isinstance(step, steps.SyncCode)]
    if syncs:
        code.bring(syncs, context)
    with contextlib.ExitStack() as stack:
        if ships:
            context.shipment = stack.enter_context(shipping(_errand(ships, context)))
            context.say("image", f"read {ships[0].image}", ships[0].source, is_end=True)
        yield
    registry.demand_same({host: image for (what, host), image in context.results.items() if what == PULLED})


def _errand(ships: list[steps.ShipImage], context: Context) -> Errand:
    first = ships[0]
    described = {step.host: step.describe() for step in ships}

    def say(text: str, host: str, done: int, total: int) -> None:
        if host == first.source:
            context.say("image", f"{text} {first.image}", host, done=done)
        else:
            via = f" (passed on by {text})" if text else ""
            context.say("image", described[host] + via, host, done=done, total=total)

    links = {step.host: context.link(step.host) for step in ships}
    return Errand(context.inventory, first.image, first.source, context.engine(first.source), links, say)


def _build_image(step: steps.BuildImage, context: Context) -> None:
    target = step.image.partition(":")[2]
    build_image(
        context.engine(step.host), BuildOptions(target), lambda text: context.say("image", text, step.host)
    )


def _build_layer(step: steps.BuildLayer, context: Context) -> None:
    ca = site_ca_bundle(os.environ)

    def say(line: str) -> None:
        # A blank line is a sign of life: time to see whether somebody pressed Ctrl-C.
        context.say("image", line or step.describe(), step.host)

    build_layer(context.engine(step.host), step, ca.read_bytes() if ca else b"", say)


def _ship_image(step: steps.ShipImage, context: Context) -> None:
    context.shipment.deliver(step.host)


def _push_image(step: steps.PushImage, context: Context) -> None:
    registry.push(context.engine(step.host), step.image, step.registry, _counting(step, context))


def _pull_image(step: steps.PullImage, context: Context) -> None:
    engine = context.engine(step.host)
    registry.pull(engine, step.image, step.registry, _counting(step, context))
    if step.needs_label:
        registry.demand_label(engine, step.image)
    context.results[(PULLED, step.host)] = image_content(engine.inspect_image(step.image))


def _counting(step: steps.Step, context: Context) -> Callable[[int, int], None]:
    return lambda done, total: context.say("image", step.describe(), step.host, done=done, total=total)


def _make_keys(step: steps.MakeKeys, context: Context) -> None:
    trust = step.trust
    context.trust = trust
    new_hosts = {name: keys.make_pair() for name in trust.new_host_keys}
    publics = {**trust.known_host_keys, **{name: pair.public for name, pair in new_hosts.items()}}
    context.keyring = keys.Keyring(_client_key(step, context), new_hosts, publics)


def _client_key(step: steps.MakeKeys, context: Context) -> keys.Pair:
    trust = step.trust
    if trust.brought:
        return keys.read_brought(*map(Path, trust.brought))
    if not trust.client_from or not trust.client_container:
        return keys.make_pair()
    text = archive.read_text(
        context.engine(trust.client_from), trust.client_container, f"{FOLDER}/id_ed25519"
    )
    if text is None:
        raise HvdockerError(
            "its worker has lost the cluster's client key",
            host=trust.client_from,
            fix="hvdocker down, then up again",
        )
    return keys.pair_from_private(text)


def _make_folders(step: steps.MakeFolders, context: Context) -> None:
    link = context.link(step.host)
    existed = link.run(files.exists(step.root)).code == 0
    if not existed:
        context.made(step.host, f"folder {step.root}", lambda: _quiet_remove(context, step.host, step.root))
    must(
        link,
        files.make_folders(step.paths, step.is_shared),
        f"making {step.root} failed",
        fix="is the disk full, or the home read-only?",
    )


def _quiet_remove(context: Context, host: str, path: str) -> None:
    must(context.link(host), files.remove_tree(path), f"removing {path} failed")


def _make_network(step: steps.MakeNetwork, context: Context) -> None:
    engine = context.engine(step.host)
    ipam = {"Driver": "default", "Config": [{"Subnet": step.subnet}]}
    labels = {names.LABEL_CLUSTER: step.cluster}
    made = engine.create_network(step.name, driver="bridge", ipam=ipam, labels=labels, check_duplicate=True)
    context.made(step.host, f"network {step.name}", lambda: engine.remove_network(made["Id"]))


def _remove_container(step: steps.RemoveContainer, context: Context) -> None:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).remove_container(step.id, force=True, v=True)


def create(context: Context, host: str, spec: ContainerSpec, extra_labels: Mapping[str, str]) -> str:
    engine = context.engine(host)
    body = create_body(spec, extra_labels)
    made: str = engine.create_container_from_config(body, spec.name)["Id"]
    context.made(host, f"container {spec.name}", lambda: engine.remove_container(made, force=True, v=True))
    return made


def _create_worker(step: steps.CreateWorker, context: Context) -> None:
    ring: keys.Keyring = context.keyring
    spec, engine = step.spec, context.engine(step.host)
    pair = ring.new_hosts[step.host]
    labels = {names.LABEL_HOST_KEY: pair.public, names.LABEL_CLIENT_KEY: ring.client.public}
    made = create(context, step.host, spec, labels)
    wanted = worker_files(
        _trust_files(context),
        ring.client.private.reveal(),
        pair.private.reveal(),
        step.address,
        step.port,
        spec.uid,
    )
    archive.furnish(engine, made, wanted, spec.uid, spec.gid, _image_passwd(context, step.host, spec, made))


def _image_passwd(context: Context, host: str, spec: ContainerSpec, container: str) -> str:
    """Every host of a plan runs the same image: one container is read for all of them."""
    return context.once(
        f"passwd of {spec.image}",
        lambda: archive.read_text(context.engine(host), container, "/etc/passwd") or "",
    )


def _trust_files(context: Context) -> list[FileSpec]:
    trust, ring = context.trust, context.keyring
    return trust_files(
        context.template, trust.cluster, trust.members, trust.port, ring.host_publics, ring.client.public
    )


def _refresh_trust(step: steps.RefreshTrust, context: Context) -> None:
    archive.put_files(context.engine(step.host), step.container, _trust_files(context), step.uid, step.gid)


def _start(step: steps.StartContainer, context: Context) -> None:
    context.engine(step.host).start(step.name)


def run_inside(context: Context, host: str, container: str, argv: list[str]) -> tuple[int, str]:
    """A command in a running container: its exit code and what it said."""
    engine = context.engine(host)
    made = engine.exec_create(container, argv)["Id"]
    output: bytes = engine.exec_start(made)
    return engine.exec_inspect(made)["ExitCode"], output.decode("utf-8", "replace")


def _greets(step: steps.AwaitSshd, context: Context) -> bool:
    """Whether sshd answers its own host soon, which costs the host no process."""
    for pause_s in SSHD_PAUSES_S:
        said = context.link(step.host).greeting(step.address, step.port, timeout_s=1.0)
        if said is None:
            return False
        if said.startswith(b"SSH-"):
            return True
        time.sleep(pause_s)
    return False


def _await_sshd(step: steps.AwaitSshd, context: Context) -> None:
    """Where it does not answer at once, the worker itself tries its own address; if it has died, its log
    says why."""
    if _greets(step, context):
        return
    from docker.errors import APIError

    argv = ["/opt/hvdocker/bin/check", "sshd", step.address, str(step.port), str(SSHD_DEADLINE_S)]
    try:
        code, said = run_inside(context, step.host, step.container, argv)
    except APIError as error:
        code, said = 1, str(error.explanation or error)
    if code == 0:
        return
    log = context.engine(step.host).logs(step.container, tail=10).decode("utf-8", "replace")
    raise HostUnfit(
        f"the worker's sshd does not answer on {step.address}:{step.port}",
        host=step.host,
        command=f"docker logs {step.container}",
        lines=[*log.splitlines()[-10:], *said.splitlines()[-3:]],
        fix="is the address this host's own, and the port free?",
    )


def _check_mesh(step: steps.CheckMesh, context: Context) -> None:
    argv = ["/opt/hvdocker/bin/check", "mesh", *step.members]
    code, said = run_inside(context, step.host, step.container, argv)
    if code == 0:
        return
    lines = _mesh_lines(step.host, said)
    raise HostUnfit(
        f"{step.host} cannot log in to every worker",
        host=step.host,
        command=f"docker exec {step.container} {' '.join(argv)}",
        lines=lines,
        fix="does a firewall stand between them on the worker port?",
    )


def _mesh_lines(head: str, said: str) -> list[str]:
    try:
        verdicts = json.loads(said.strip().splitlines()[-1])
        return [f"{head} → {host}: {why}" for host, why in verdicts.items() if why]
    except (ValueError, IndexError, AttributeError):
        return said.splitlines()[-10:]


def _sync_code(step: steps.SyncCode, context: Context) -> None:
    """Its host was synced with all others, before: here it gets its own outcome."""
    code.tell(step.host, context)


def _write_job(step: steps.WriteJob, context: Context) -> None:
    must(
        context.link(step.host),
        files.write_file(f"{step.folder}/job.json", step.is_shared),
        "writing the job's file failed",
        [step.content.encode()],
    )


def _create_master(step: steps.CreateMaster, context: Context) -> None:
    """The client key comes from the head's worker: any laptop can train."""
    engine, spec = context.engine(step.host), step.spec
    with ThreadPoolExecutor(max_workers=2) as beside:
        keys_there = beside.submit(archive.read_texts, engine, step.worker, FOLDER)
        passwd = beside.submit(archive.read_text, engine, step.worker, "/etc/passwd")
        made = create(context, step.host, spec, {})
    found = keys_there.result()
    missing = [path for path in MASTER_TAKES if path not in found]
    if missing:
        raise HvdockerError(f"its worker lacks {', '.join(missing)}", fix="hvdocker down, then up again")
    taken = [FileSpec(path, found[path]) for path in MASTER_TAKES]
    archive.furnish(engine, made, [*folders(), *taken], spec.uid, spec.gid, passwd.result() or "")


def _remove_tree(step: steps.RemoveTree, context: Context) -> None:
    """However large it is: no time limit."""
    link = context.link(step.host)
    if link.run(files.remove_tree(step.path), timeout_s=None).code == 0:
        return
    # Containers of another user wrote there: only root may remove it.
    must(
        link,
        files.remove_tree(step.path).as_root(),
        f"removing {step.path} failed",
        fix=f"its files belong to another user; on the host: sudo rm -rf {step.path}",
        timeout_s=None,
    )


def _stop_job(step: steps.StopJob, context: Context) -> None:
    """Ranks get their grace, so that the outputs brought home are whole."""
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).stop(step.id, timeout=20)


def _remove_network(step: steps.RemoveNetwork, context: Context) -> None:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).remove_network(step.name)


def _fetch_jobs(step: steps.FetchJobs, context: Context) -> None:
    for job in step.jobs:
        context.fetch(job)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    steps.BuildImage: _build_image,
    steps.BuildLayer: _build_layer,
    steps.ShipImage: _ship_image,
    steps.PushImage: _push_image,
    steps.PullImage: _pull_image,
    steps.MakeKeys: _make_keys,
    steps.MakeFolders: _make_folders,
    steps.MakeNetwork: _make_network,
    steps.RemoveContainer: _remove_container,
    steps.StopJob: _stop_job,
    steps.CreateWorker: _create_worker,
    steps.RefreshTrust: _refresh_trust,
    steps.StartContainer: _start,
    steps.AwaitSshd: _await_sshd,
    steps.CheckMesh: _check_mesh,
    steps.SyncCode: _sync_code,
    steps.WriteJob: _write_job,
    steps.CreateMaster: _create_master,
    steps.RemoveTree: _remove_tree,
    steps.RemoveNetwork: _remove_network,
    steps.FetchJobs: _fetch_jobs,
}
