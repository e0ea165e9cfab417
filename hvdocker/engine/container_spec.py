"""The specification of a container: one value, rendered for the Docker API and for the docker CLI. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hvdocker import names
from hvdocker.shell.command import Command

LOG_OPTIONS = {"max-size": "50m", "max-file": "3"}
ALL_DEVICES = ("all",)
# What sshd needs for logins when it runs as root; DAC_OVERRIDE because mounts belong to other users.
ROOT_CAPABILITIES = ("SETUID", "SETGID", "SYS_CHROOT", "DAC_OVERRIDE")


@dataclass(frozen=True)
class ContainerSpec:
    """Everything that decides how a container of hvdocker is created.

    `uid` and `gid` are those of the container's user, `groups` the numbers of its supplementary groups. `network` is
    `host`, the name of a Docker network, or `container:NAME` to share the network of another container. `address` is
    the container's IPv4 address in `network`; None means no fixed address. `hostname` is the name of the container
    itself, and `hostname_address` the address to which it resolves there; None leaves both to the engine. `devices` are
    UUIDs of GPUs, or ALL_DEVICES; empty for no GPU. `binds` are mounts as the docker CLI writes them, `SOURCE:TARGET`.
    `memory_bytes` and `cpus` are limits; None means no limit. `shm_bytes` is the size of /dev/shm; None means the
    engine's default. `restart` is the engine's restart policy, such as `no` or `unless-stopped`. `stop_timeout_s` is
    how long the engine waits between SIGTERM and SIGKILL."""

    name: str
    image: str
    command: tuple[str, ...]
    uid: int
    gid: int
    # Supplementary groups, by number: a data set may be readable by its group only.
    groups: tuple[int, ...] = ()
    network: str = "host"
    address: str | None = None
    # The container's own name, and the address that this name resolves to in it; None leaves both to the engine.
    hostname: str | None = None
    hostname_address: str | None = None
    binds: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    # UUIDs of GPUs, or ALL_DEVICES; empty for no GPU.
    devices: tuple[str, ...] = ()
    shm_bytes: int | None = None
    memory_bytes: int | None = None
    cpus: float | None = None
    restart: str = "no"
    stop_timeout_s: int = 20

    @property
    def capabilities(self) -> tuple[str, ...]:
        return ROOT_CAPABILITIES if self.uid == 0 else ()

    def fingerprint(self) -> str:
        """Return a hash of the specification. It is stored as a label of the container. `up` replaces a worker if the
        label differs from the hash of the worker that it would create. Labels that do not change how the container
        works do not count, such as its owner and the version of hvdocker."""
        fields = asdict(self)
        ignored = (
            names.LABEL_SPEC,
            names.LABEL_OWNER,
            names.LABEL_VERSION,
            names.LABEL_RUN,
            # A worker need not be replaced when the job that it joined is over.
            names.LABEL_JOINED,
            names.LABEL_SHARE,
            # Only the image itself counts. `up --image` need not replace a worker that already has the named image.
            names.LABEL_IMAGE_NAME,
        )
        # Earlier versions had the field `has_gpus` instead of `devices`. It is used again for containers without
        # GPUs, so that they keep their fingerprint and need not be replaced.
        if not fields["devices"]:
            del fields["devices"]
            fields["has_gpus"] = False
        # Earlier versions lacked these fields. A container that does not set them keeps the fingerprint of that time.
        for name in ("groups", "hostname", "hostname_address"):
            if not fields[name]:
                del fields[name]
        fields["labels"] = {k: v for k, v in self.labels.items() if k not in ignored}
        text = json.dumps(fields, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def all_labels(self) -> dict[str, str]:
        """Return the labels with the fingerprint added, under the name `names.LABEL_SPEC`."""
        return {**self.labels, names.LABEL_SPEC: self.fingerprint()}


def create_body(spec: ContainerSpec, extra_labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the API request POST /containers/create that creates the container. `extra_labels` are added
    to the labels of `spec`, and do not count for its fingerprint. Values are `Any` because the body is JSON."""
    host: dict[str, Any] = {  # Any: as above
        "NetworkMode": spec.network,
        "Binds": list(spec.binds),
        "Init": True,
        "CapDrop": ["ALL"],
        "CapAdd": list(spec.capabilities),
        "SecurityOpt": ["no-new-privileges"],
        "RestartPolicy": {"Name": spec.restart},
        "LogConfig": {"Type": "json-file", "Config": dict(LOG_OPTIONS)},
    }
    if spec.groups:
        host["GroupAdd"] = [str(group) for group in spec.groups]
    if spec.hostname and spec.hostname_address:
        host["ExtraHosts"] = [f"{spec.hostname}:{spec.hostname_address}"]
    if spec.shm_bytes:
        host["ShmSize"] = spec.shm_bytes
    if spec.memory_bytes:
        host["Memory"] = spec.memory_bytes
    if spec.cpus:
        host["NanoCpus"] = int(spec.cpus * 1e9)
    if spec.devices:
        host["DeviceRequests"] = [_device_request(spec.devices)]
    body: dict[str, Any] = {  # Any: as above
        "Image": spec.image,
        "Cmd": list(spec.command),
        "User": f"{spec.uid}:{spec.gid}",
        "Labels": {**spec.all_labels(), **extra_labels},
        "StopTimeout": spec.stop_timeout_s,
        "HostConfig": host,
    }
    if spec.hostname:
        body["Hostname"] = spec.hostname
    if spec.address:
        ipam = {"IPAMConfig": {"IPv4Address": spec.address}}
        body["NetworkingConfig"] = {"EndpointsConfig": {spec.network: ipam}}
    return body


def _device_request(devices: tuple[str, ...]) -> dict[str, Any]:
    """Return the entry of the API's `DeviceRequests` that gives a container these GPUs. `devices` are UUIDs of GPUs, or
    ALL_DEVICES. Values are `Any` because the entry is JSON."""
    which = {"Count": -1} if devices == ALL_DEVICES else {"DeviceIDs": list(devices)}
    return {"Driver": "", **which, "Capabilities": [["gpu"]]}


def create_command(spec: ContainerSpec) -> Command:
    """Return the `docker create` command that creates the same container as the API request of `create_body` without
    extra labels. Only the docker CLI adds the proxies of its configuration file, if it has any, to the environment. The
    command is part of the script that `--dry-run --script` prints."""
    argv = ["docker", "create", "--name", spec.name, "--user", f"{spec.uid}:{spec.gid}", "--init"]
    for group in spec.groups:
        argv += ["--group-add", str(group)]
    argv += ["--network", spec.network]
    if spec.hostname:
        argv += ["--hostname", spec.hostname]
    if spec.hostname and spec.hostname_address:
        argv += ["--add-host", f"{spec.hostname}:{spec.hostname_address}"]
    if spec.address:
        argv += ["--ip", spec.address]
    argv += ["--cap-drop", "ALL"]
    for capability in spec.capabilities:
        argv += ["--cap-add", capability]
    argv += ["--security-opt", "no-new-privileges", "--restart", spec.restart]
    argv += ["--stop-timeout", str(spec.stop_timeout_s), "--log-driver", "json-file"]
    for key, value in LOG_OPTIONS.items():
        argv += ["--log-opt", f"{key}={value}"]
    if spec.devices:
        # The docker CLI parses the value as CSV: a list needs quotes.
        argv += ["--gpus", "all" if spec.devices == ALL_DEVICES else f'"device={",".join(spec.devices)}"']
    if spec.shm_bytes:
        argv += ["--shm-size", str(spec.shm_bytes)]
    if spec.memory_bytes:
        argv += ["--memory", str(spec.memory_bytes)]
    if spec.cpus:
        argv += ["--cpus", f"{spec.cpus:g}"]
    for bind in spec.binds:
        argv += ["--volume", bind]
    for key, value in sorted(spec.all_labels().items()):
        argv += ["--label", f"{key}={value}"]
    return Command((*argv, spec.image, *spec.command))
