"""The commands and files for starting by hand the same workers that `up` creates. They are prepared before
the measurement: creating keys and files costs the peers no time."""

import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.testbed import Testbed
from hvdocker import assets
from hvdocker.cluster.containers.files import trust_files, worker_files
from hvdocker.cluster.steps import CreateWorker, MakeFolders, MakeKeys
from hvdocker.cluster.up import UpOptions, up
from hvdocker.engine.container_spec import create_command
from hvdocker.engine.file_spec import FileSpec, with_user
from hvdocker.env import Env
from hvdocker.inventory.locate import read_inventory
from hvdocker.plan.plan import Plan
from hvdocker.shell.command import Command
from hvdocker.transport.ssh.key_pairs import make_pair
from tests.cluster.lab import LabHost

CHECK = "/opt/hvdocker/bin/check"
SSH = "/opt/hvdocker/bin/ssh"


@dataclass(frozen=True)
class ManualWorker:
    """The worker of one host, as command lines for the host's shell. `files` is a tar for the container's
    root."""

    host: LabHost
    name: str
    folders: str
    create: str
    run: str
    await_sshd: str
    files: Path


def manual_workers(ground: Testbed, hosts: Sequence[LabHost], inventory: Path) -> list[ManualWorker]:
    """Return the workers of the plan of `up` itself, so that both sides create the same containers."""
    env = Env(cwd=ground.folder)
    plan = up(env, read_inventory(env, inventory), UpOptions(is_dry_run=True)).plan
    contents = _contents(plan, hosts[0].exec(["docker", "run", "--rm", _image(plan), "cat", "/etc/passwd"]))
    folders = {step.host: step.paths for step in plan.steps if isinstance(step, MakeFolders)}
    named = {host.name: host for host in hosts}
    return [
        _manual_worker(ground, named[step.host], step, folders[step.host], contents[step.host])
        for step in plan.steps
        if isinstance(step, CreateWorker)
    ]


def _image(plan: Plan) -> str:
    return next(step.spec.image for step in plan.steps if isinstance(step, CreateWorker))


def _contents(plan: Plan, passwd: str) -> dict[str, bytes]:
    """Return, per host, a tar with keys, SSH configuration and /etc/passwd."""
    trust = next(step.trust for step in plan.steps if isinstance(step, MakeKeys))
    client = make_pair()
    pairs = {name: make_pair() for name in trust.new_host_keys}
    publics = {name: pair.public for name, pair in pairs.items()}
    shared = trust_files(assets.ssh_config_template(), trust.cluster, trust.members, trust.port, publics, client.public)
    found = {}
    for step in plan.steps:
        if isinstance(step, CreateWorker):
            own = pairs[step.host].private.reveal()
            files = worker_files(shared, client.private.reveal(), own, step.address, step.port, step.spec.uid, passwd)
            users = with_user(passwd, step.spec.uid, step.spec.gid)
            found[step.host] = _tar(files, users, step.spec.uid, step.spec.gid)
    return found


def _tar(files: Sequence[FileSpec], passwd: str, uid: int, gid: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        _add(tar, FileSpec("etc/passwd", passwd, 0o644), 0, 0)
        for file in files:
            _add(tar, FileSpec(f"run/hvdocker/{file.path}".rstrip("/"), file.content, file.mode), uid, gid)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, file: FileSpec, uid: int, gid: int) -> None:
    entry = tarfile.TarInfo(file.path)
    entry.mode, entry.uid, entry.gid = file.mode, uid, gid
    data = (file.content or "").encode()
    entry.size = len(data)
    entry.type = tarfile.REGTYPE if file.content is not None else tarfile.DIRTYPE
    tar.addfile(entry, io.BytesIO(data))


def _manual_worker(
    ground: Testbed, host: LabHost, step: CreateWorker, folders: Sequence[str], content: bytes
) -> ManualWorker:
    path = ground.folder / f"worker-{host.name}.tar"
    path.write_bytes(content)
    create = create_command(step.spec)
    mounts = ("--volume", "$HOME/by-hand/run/hvdocker:/run/hvdocker")
    mounts += ("--volume", "$HOME/by-hand/etc/passwd:/etc/passwd:ro")
    at = create.argv.index(step.spec.image)
    before, after = Command(create.argv[2:at]).line(), Command(create.argv[at:]).line()
    check = ("docker", "exec", step.spec.name, CHECK, "sshd", step.address, str(step.port), "30")
    return ManualWorker(
        host=host,
        name=step.spec.name,
        folders=Command(("mkdir", "-p", *folders)).line(),
        create=create.line(),
        run=f"docker run -d {before} {' '.join(mounts)} {after}",
        await_sshd=Command(check).line(),
        files=path,
    )
