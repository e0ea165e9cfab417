"""A container as hvdocker wants it: one value, two renderings (the Docker API and the docker CLI)."""

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
# What sshd needs to log a user in when it runs as root; DAC_OVERRIDE because mounts belong to others.
ROOT_CAPABILITIES = ("SETUID", "SETGID", "SYS_CHROOT", "DAC_OVERRIDE")


@dataclass(frozen=True)
class ContainerSpec:
    name: str
    image: str
    command: tuple[str, ...]
    uid: int
    gid: int
    network: str = "host"
    address: str | None = None
    binds: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    # UUIDs of GPUs, or ALL_DEVICES.
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
        """Equal for equal containers, whoever made them with whichever version of hvdocker."""
        fields = asdict(self)
        ignored = (
            names.LABEL_SPEC,
            names.LABEL_OWNER,
            names.LABEL_VERSION,
            names.LABEL_RUN,
            # A worker is none the less what it should be when the job that it joined is over.
            names.LABEL_JOINED,
            names.LABEL_SHARE,
        )
        # As it was told when containers had all GPUs or none: who has none need not be made anew.
        if not fields["devices"]:
            del fields["devices"]
            fields["has_gpus"] = False
        fields["labels"] = {k: v for k, v in self.labels.items() if k not in ignored}
        text = json.dumps(fields, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def all_labels(self) -> dict[str, str]:
        return {**self.labels, names.LABEL_SPEC: self.fingerprint()}


def create_body(spec: ContainerSpec, extra_labels: Mapping[str, str]) -> dict[str, Any]:
    """The body of POST /containers/create. Any: it is JSON."""
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
    if spec.address:
        ipam = {"IPAMConfig": {"IPv4Address": spec.address}}
        body["NetworkingConfig"] = {"EndpointsConfig": {spec.network: ipam}}
    return body


def _device_request(devices: tuple[str, ...]) -> dict[str, Any]:
    """Any: JSON."""
    which = {"Count": -1} if devices == ALL_DEVICES else {"DeviceIDs": list(devices)}
    return {"Driver": "", **which, "Capabilities": [["gpu"]]}


def create_command(spec: ContainerSpec) -> Command:
    """`docker create …`, for people and for --script."""
    argv = ["docker", "create", "--name", spec.name, "--user", f"{spec.uid}:{spec.gid}", "--init"]
    argv += ["--network", spec.network]
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
        # The client reads CSV: a list needs quotes of its own.
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
