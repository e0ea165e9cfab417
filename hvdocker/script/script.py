"""Renders a plan as a bash script that does the same with ssh, docker, tar and ssh-keygen. The script calls hvdocker
only for the steps BuildImage and FetchJobs.

The script contains no private keys. While it runs, it makes them, or copies them from the user's files or a worker."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from hvdocker import assets, names
from hvdocker.cluster import steps
from hvdocker.cluster.containers.files import MASTER_SSH_FILES
from hvdocker.cluster.containers.ssh_files import SSH_FOLDER, ClusterMember, render_ssh_config, sshd_config
from hvdocker.engine.container_commands import check_mesh, check_sshd
from hvdocker.engine.container_spec import ContainerSpec, create_command
from hvdocker.engine.file_spec import passwd_line
from hvdocker.images.steps import BuildImage, BuildLayer, PullImage, PushImage, RemoveImage, ShipImage
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.capsule.capsule import PATCH_FILE, PATCH_MAX_BYTES_ON_ALL_HOSTS
from hvdocker.jobs.secrets.steps import OverwriteSecrets, PutSecrets, RemoveSecrets
from hvdocker.jobs.steps import FetchJobs, StopJob
from hvdocker.observe.state import HostSeen
from hvdocker.plan.plan import CONTROLLER, Plan, Step
from hvdocker.protocol.job_file import STOP_S
from hvdocker.protocol.json_text import json_text
from hvdocker.script import images, join
from hvdocker.script.writer import ScriptWriter
from hvdocker.script.writer import here_document as _here
from hvdocker.script.writer import tar_command as _tar
from hvdocker.shell import host_folders
from hvdocker.shell.command import Command, command
from hvdocker.sync.steps import SyncCode
from hvdocker.training.steps import CreateMaster, WriteJobFile, WritePatch
from hvdocker.transport.ssh.command_line import ssh_words

# Placeholders that the running script replaces. They contain a blank, so that shlex quotes the word around them.
_HOST_KEY = "@HOST KEY@"
_CLIENT_KEY = "@CLIENT KEY@"

_HEAD = """\
#!/usr/bin/env bash
# Written by hvdocker: {verb} for cluster {cluster}. Needs ssh, ssh-keygen, tar, docker.
set -euo pipefail
umask 077
keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT
public() {{ cut -d ' ' -f 1,2 "$keys/$1.pub"; }}
json() {{
    local s=${{1//\\\\/\\\\\\\\}} code raw word
    s=${{s//\\"/\\\\\\"}}
    s=${{s//@/\\\\u0040}}
    for code in {{1..31}}; do
        printf -v word '\\\\u%04x' "$code"; printf -v raw '\\\\x%02x' "$code"; printf -v raw %b "$raw"
        s=${{s//"$raw"/"$word"}}
    done
    printf '%s' "$s"
}}
# Runs the line $1 on a host that the other words reach. Any login shell hands the one quoted word to sh, and what
# its start-up files print before the mark is dropped. Another docker context may be current there.
remote() {{
    local line said
    line=$(printf 'export DOCKER_CONTEXT=default; echo; echo hvdocker-start; %s' "$1" | base64 | tr -d '\\n')
    shift
    "$@" "exec sh -c 'eval \\"\\$(echo $line | base64 -d)\\"'" |
        {{ while IFS= read -r said && [ "$said" != hvdocker-start ]; do :; done; cat; }}
}}

# A function is read whole before it runs: ssh, which reads standard input, cannot eat the rest of it.
main() {{
"""


def as_script(plan: Plan, inventory: Inventory, hosts: Mapping[str, HostSeen]) -> str:
    """Return the plan as the text of a bash script. `hosts` has the observed hosts: on those that need sudo for docker,
    the script calls `sudo -n docker`."""
    sudo_hosts = frozenset(name for name, seen in hosts.items() if seen.needs_sudo)
    return script_of(plan, inventory, assets.ssh_config_template(), sudo_hosts)


def script_of(plan: Plan, inventory: Inventory, template: str, sudo_hosts: frozenset[str] = frozenset()) -> str:
    writer = ScriptWriter(inventory, template, sudo_hosts, _functions(_reached(plan)))
    lines = [_HEAD.format(verb=plan.verb, cluster=plan.cluster)]
    lines += [_reach(writer, host) for host in writer.functions]
    trust = next((step.trust for step in plan.steps if isinstance(step, steps.MakeKeys)), None)
    for stage in plan.stages:
        for step in stage.steps:
            # A folder's name may hold a newline, which would end the comment.
            described = " ".join(step.describe().splitlines())
            lines.append(f"\n# {stage.name} · {step.host}: {described}")
            lines += _RENDER[type(step)](writer, step, trust)
    return "\n".join([*lines, "}", "", "main"]) + "\n"


def _reached(plan: Plan) -> list[str]:
    """Return every host that the script connects to: hosts with steps, hosts from which images are copied, and the
    heads of running jobs that other hosts join."""
    hosts = [step.host for step in plan.steps]
    hosts += [step.source for step in plan.steps if isinstance(step, ShipImage)]
    hosts += [step.head for step in plan.steps if isinstance(step, steps.JoinJob)]
    return list(dict.fromkeys(hosts))


def _functions(hosts: list[str]) -> dict[str, str]:
    """Return, by host, the name of the shell function that runs a command on that host, such as `on_gpu1` for `gpu1`. A
    number is appended if two hosts would get the same name."""
    found: dict[str, str] = {}
    for host in hosts:
        plain = "on_" + "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in host)
        names = (plain, *(f"{plain}_{number}" for number in range(2, len(hosts) + 2)))
        found[host] = next(name for name in names if name not in found.values())
    return found


def _reach(writer: ScriptWriter, host: str) -> str:
    if host == CONTROLLER or writer.inventory.named(host).is_local:
        return f'{writer.functions[host]}() {{ sh -c "$1"; }}'
    words = shlex.join(ssh_words(writer.inventory.named(host)))
    return f'{writer.functions[host]}() {{ remote "$1" {words}; }}'


def _make_keys(writer: ScriptWriter, step: steps.MakeKeys, trust: Any) -> Iterator[str]:
    mine = step.trust
    if mine.user_key_files:
        yield f'cp -- {shlex.quote(mine.user_key_files[0])} "$keys/id_ed25519"'
        yield f'cp -- {shlex.quote(mine.user_key_files[1])} "$keys/id_ed25519.pub"'
    elif mine.client_key_host:
        copy = command("docker", "cp", f"{mine.client_key_container}:{SSH_FOLDER}/id_ed25519", "-")
        yield f'{writer.on(mine.client_key_host, copy)} | tar -xO > "$keys/id_ed25519"'
        yield 'ssh-keygen -y -f "$keys/id_ed25519" > "$keys/id_ed25519.pub"'
    else:
        yield 'ssh-keygen -q -t ed25519 -N "" -C "" -f "$keys/id_ed25519"'
    for name in mine.new_host_keys:
        yield f'ssh-keygen -q -t ed25519 -N "" -C "" -f "$keys/host_{name}"'
    for name, public in mine.known_host_keys.items():
        yield f'printf "%s\\n" {shlex.quote(public)} > "$keys/host_{name}.pub"'
    yield 'mkdir -p "$keys/trust"'
    config = render_ssh_config(writer.template, mine.cluster, mine.members, mine.port)
    yield _here('"$keys/trust/config"', config)
    yield ("{ " + " ".join(_pinned(member, mine.port) for member in mine.members) + ' } > "$keys/trust/known_hosts"')
    sources = ",".join(member.address for member in mine.members)
    yield f"public=$(public id_ed25519); from='{sources}'"
    yield 'printf \'restrict,from="%s" %s\\n\' "$from" "$public" > "$keys/trust/authorized_keys"'


def _pinned(member: ClusterMember, port: int) -> str:
    shown = member.address if port == 22 else f"[{member.address}]:{port}"
    return f"printf '%s %s\\n' {shlex.quote(shown)} \"$(public host_{member.name})\";"


def _folders(writer: ScriptWriter, step: steps.MakeFolders, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, host_folders.make_folders(step.root, step.paths, step.is_shared, step.members))


def _network(writer: ScriptWriter, step: steps.MakeNetwork, trust: Any) -> Iterator[str]:
    label = f"{names.LABEL_CLUSTER}={step.cluster}"
    words = ("docker", "network", "create", "--driver", "bridge", "--subnet", step.subnet, "--label", label)
    yield writer.on(step.host, command(*words, step.name))


def _stop_job(writer: ScriptWriter, step: StopJob, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, command("docker", "stop", "--time", str(STOP_S), step.id))


def _remove_container(writer: ScriptWriter, step: steps.RemoveContainer, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, command("docker", "rm", "-f", "-v", step.name))


def _create_worker(writer: ScriptWriter, step: steps.CreateWorker, trust: steps.Trust) -> Iterator[str]:
    keyed = {**step.spec.labels, names.LABEL_HOST_KEY: _HOST_KEY, names.LABEL_CLIENT_KEY: _CLIENT_KEY}
    words = create_command(replace(step.spec, labels=keyed)).argv
    # The fingerprint is computed without the keys.
    spec_label = f"{names.LABEL_SPEC}={step.spec.fingerprint()}"
    fixed = tuple(spec_label if word.startswith(f"{names.LABEL_SPEC}=") else word for word in words)
    host = shlex.quote(f"host_{step.host}")
    yield f"line={shlex.quote(writer.with_sudo(step.host, Command(fixed)).line())}"
    yield f"line=${{line//{_HOST_KEY}/$(public {host})}}; line=${{line//{_CLIENT_KEY}/$(public id_ed25519)}}"
    yield f'{writer.functions[step.host]} "$line" > /dev/null'
    yield from _add_user(writer, step.host, step.spec)
    folder = f'"$keys/worker_{step.host}/hvdocker'
    yield f'mkdir -p {folder}/ssh" {folder}/home"'
    yield f'cp -- "$keys"/trust/* "$keys/id_ed25519" {folder}/ssh/"'
    yield f'cp -- "$keys/host_{step.host}" {folder}/ssh/host_ed25519_key"'
    yield _here(f'{folder}/ssh/sshd_config"', sshd_config(step.address, step.port, step.spec.uid))
    tar = _tar(step.spec.uid, step.spec.gid, f"worker_{step.host}", "hvdocker")
    yield f"{tar} | {writer.on(step.host, command('docker', 'cp', '-', f'{step.spec.name}:/run'))}"


def _add_user(writer: ScriptWriter, host: str, spec: ContainerSpec) -> Iterator[str]:
    if spec.uid == 0:
        return
    passwd = f'"$keys/passwd_{host}/passwd"'
    yield f'mkdir -p "$keys/passwd_{host}"'
    yield f"{writer.on(host, command('docker', 'cp', f'{spec.name}:/etc/passwd', '-'))} | tar -xO > {passwd}"
    yield f"printf '%s' {shlex.quote(passwd_line(spec.uid, spec.gid))} >> {passwd}; chmod 644 {passwd}"
    tar = _tar(0, 0, f"passwd_{host}", "passwd")
    yield f"{tar} | {writer.on(host, command('docker', 'cp', '-', f'{spec.name}:/etc'))}"


def _refresh(writer: ScriptWriter, step: steps.RefreshTrust, trust: Any) -> Iterator[str]:
    tar = _tar(step.uid, step.gid, "trust", "config known_hosts authorized_keys")
    yield f"{tar} | {writer.on(step.host, command('docker', 'cp', '-', f'{step.container}:{SSH_FOLDER}'))}"


def _members(writer: ScriptWriter, step: steps.WriteMembers, trust: Any) -> Iterator[str]:
    write = writer.on(step.host, host_folders.write_members(step.folder))
    yield f"printf '%s\\n' {shlex.quote(step.members)} | {write}"


def _start(writer: ScriptWriter, step: steps.StartContainer, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, command("docker", "start", step.name))


def _await(writer: ScriptWriter, step: steps.AwaitSshd, trust: Any) -> Iterator[str]:
    check = check_sshd(step.address, step.port, 30)
    yield writer.on(step.host, command("docker", "exec", step.container, *check.argv))


def _mesh(writer: ScriptWriter, step: steps.CheckMesh, trust: Any) -> Iterator[str]:
    check = check_mesh(step.members)
    yield writer.on(step.host, command("docker", "exec", step.container, *check.argv))


def _sync(writer: ScriptWriter, step: SyncCode, trust: Any) -> Iterator[str]:
    skipped = "--exclude-vcs --exclude-vcs-ignores --exclude=.hvdocker --exclude=__pycache__"
    tar = f"tar {skipped} -C {shlex.quote(step.source)} -cf - ."
    yield f"{tar} | {writer.on(step.host, host_folders.unpack_tar(step.folder))}"


def _write_job(writer: ScriptWriter, step: WriteJobFile, trust: Any) -> Iterator[str]:
    """Yield the lines that write job.json, or the other JSON file that `step.name` says. Values that came from the
    caller's environment may be secret, so the script does not contain them: it reads them from its own environment when
    it runs, and fails if one is missing. `trust` is not used."""
    body = json.loads(step.content)
    for name in step.from_caller:
        body["env"][name] = f"@ENV {name}@"
    yield f"content=$(cat <<'HVDOCKER_END'\n{json_text(body)}\nHVDOCKER_END\n)"
    for name in step.from_caller:
        yield f'value=$(json "${{{name}?}}"); content=${{content//"@ENV {name}@"/"$value"}}'
    write = host_folders.write_file(f"{step.folder}/{step.name}", step.is_shared)
    yield f'printf "%s\\n" "$content" | {writer.on(step.host, write)}'


def _write_patch(writer: ScriptWriter, step: WritePatch, trust: Any) -> Iterator[str]:
    """Yield the lines that write code.patch, the uncommitted changes of the code, into the job's folder. It is
    base64-encoded because it may hold any bytes. A patch larger than PATCH_MAX_BYTES_ON_ALL_HOSTS is left out; the job
    runs without it. `trust` is not used."""
    if len(step.content) > PATCH_MAX_BYTES_ON_ALL_HOSTS:
        yield ": # left out here; the job runs without it"
        return
    text = "\n".join(base64.encodebytes(step.content).decode().splitlines())
    write = writer.on(step.host, host_folders.write_file(f"{step.folder}/{PATCH_FILE}"))
    yield f"base64 -d <<'HVDOCKER_END' | {write}\n{text}\nHVDOCKER_END"


def _create_master(writer: ScriptWriter, step: CreateMaster, trust: Any) -> Iterator[str]:
    spec = step.spec
    yield f"{writer.on(step.host, create_command(spec))} > /dev/null"
    yield from _add_user(writer, step.host, spec)
    yield 'mkdir -p "$keys/master/hvdocker/ssh" "$keys/master/hvdocker/home"'
    tar = _tar(spec.uid, spec.gid, "master", "hvdocker")
    yield f"{tar} | {writer.on(step.host, command('docker', 'cp', '-', f'{spec.name}:/run'))}"
    for path in MASTER_SSH_FILES:
        taken = command("docker", "cp", f"{step.worker}:{names.CONTAINER_FOLDER}/{path}", "-")
        target = f"{spec.name}:{names.CONTAINER_FOLDER}/{PurePosixPath(path).parent}"
        yield writer.on(step.host, taken, command("docker", "cp", "-", target), pipe=True)


def _put_secrets(writer: ScriptWriter, step: PutSecrets, trust: Any) -> Iterator[str]:
    """Yield the lines that put a job's secrets into a container. The script does not contain the values: it reads each
    from the environment, or from its file if the secret has a path, when the script runs. `trust` is not used."""
    folder = f'"$keys/secrets/hvdocker/secrets/{step.job}'
    yield f'rm -rf "$keys/secrets"; mkdir -p {folder}"'
    for secret in step.secrets:
        if secret.path is None:
            yield f'printf %s "${{{secret.name}?}}" > {folder}/{secret.name}"'
        else:
            yield f'cat -- {shlex.quote(secret.path)} > {folder}/{secret.name}"'
    yield f'chmod 400 {folder}"/*'
    tar = _tar(step.uid, step.gid, "secrets/hvdocker", "secrets")
    target = f"{step.container}:{names.CONTAINER_FOLDER}"
    yield f"{tar} | {writer.on(step.host, command('docker', 'cp', '-', target))}"


def _forget_secrets(writer: ScriptWriter, step: RemoveSecrets, trust: Any) -> Iterator[str]:
    folders = (f"{names.SECRETS_FOLDER}/{job}" for job in step.jobs)
    yield writer.on(step.host, command("docker", "exec", step.container, "rm", "-rf", "--", *folders))


def _empty_secrets(writer: ScriptWriter, step: OverwriteSecrets, trust: Any) -> Iterator[str]:
    for name in step.names:
        target = f"{step.container}:{names.SECRETS_FOLDER}/{step.job}/{name}"
        yield writer.on(step.host, command("docker", "cp", "/dev/null", target))


def _fetch(writer: ScriptWriter, step: FetchJobs, trust: Any) -> Iterator[str]:
    """Yield the lines that fetch the jobs of the step, with `hvdocker fetch`. Only `hvdocker down` can fetch files that
    belong to no job. If there are such files, the lines make the script fail, before it removes anything. `writer` and
    `trust` are not used."""
    for job in step.jobs:
        yield shlex.join(("hvdocker", "fetch", job))
    if step.has_other_files:
        text = "nothing was removed: the code folder has files of no job, and only `hvdocker down` brings them home"
        yield f"printf '%s\\n' {shlex.quote(text)} >&2; exit 1"


def _remove_tree(writer: ScriptWriter, step: steps.RemoveTree, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, host_folders.remove_tree(step.path))


def _remove_network(writer: ScriptWriter, step: steps.RemoveNetwork, trust: Any) -> Iterator[str]:
    yield writer.on(step.host, command("docker", "network", "rm", step.name))


# Any: each renderer takes its own kind of step.
_RENDER: dict[type[Step], Callable[[ScriptWriter, Any, Any], Iterator[str]]] = {
    BuildImage: images.build_image,
    BuildLayer: images.build_layer,
    ShipImage: images.ship_image,
    PushImage: images.push_image,
    PullImage: images.pull_image,
    steps.MakeKeys: _make_keys,
    steps.MakeFolders: _folders,
    steps.MakeNetwork: _network,
    steps.RemoveContainer: _remove_container,
    StopJob: _stop_job,
    steps.CreateWorker: _create_worker,
    steps.RefreshTrust: _refresh,
    steps.WriteMembers: _members,
    steps.JoinJob: join.join_job,
    steps.UpdateMaster: join.tell_master,
    steps.StartContainer: _start,
    steps.AwaitSshd: _await,
    steps.CheckMesh: _mesh,
    SyncCode: _sync,
    WriteJobFile: _write_job,
    WritePatch: _write_patch,
    CreateMaster: _create_master,
    PutSecrets: _put_secrets,
    RemoveSecrets: _forget_secrets,
    OverwriteSecrets: _empty_secrets,
    FetchJobs: _fetch,
    steps.RemoveTree: _remove_tree,
    steps.RemoveNetwork: _remove_network,
    RemoveImage: images.remove_image,
}
