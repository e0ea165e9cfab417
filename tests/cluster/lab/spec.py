"""The specification of a lab host, and the arguments with which this machine's engine creates it."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

import docker

from tests.cluster.lab.image import LABEL
from tests.cluster.lab.privileges import MODES
from tests.cluster.lab.state import LAB_NUMBER

NETWORK = f"hvdocker-lab-{LAB_NUMBER}" if LAB_NUMBER else "hvdocker-lab"
PREFIX = f"198.18.{LAB_NUMBER}."  # of the range reserved for benchmarks: no LAN uses it
SUBNET = f"{PREFIX}0/24"
# Every host has a second interface, as people's machines do: a storage network, which no inventory names.
SECOND_NETWORK = f"{NETWORK}-second"
SECOND_PREFIX = f"198.18.{128 + LAB_NUMBER}."
SECOND_SUBNET = f"{SECOND_PREFIX}0/24"
GATEWAY = f"{PREFIX}1"
LABELS = {LABEL: f"lab {LAB_NUMBER}"}
LABEL_FILTER = f"{LABEL}=lab {LAB_NUMBER}"
SPEC_LABEL = "hvdocker.lab.spec"
ADDRESS_LABEL = "hvdocker.lab.address"
FIRST_SPECIAL = 101


LIVE_RESTORE = '{"live-restore": true}'
CLEAN: dict[str, Any] = {"shell": "", "time_zone": "UTC"}
# A clock may be off by less than the doctor warns about.
ODDITIES: dict[int, dict[str, Any]] = {
    1: {"shell": "zsh", "time_zone": "Asia/Seoul"},
    2: {"shell": "fish", "time_zone": "America/New_York", "clock_s": 0.7, "engine": LIVE_RESTORE},
    3: {"shell": "tcsh", "time_zone": "Asia/Kathmandu", "clock_s": -0.6},
    4: CLEAN,
}


@dataclass(frozen=True)
class HostSpec:
    name: str
    address: str
    suite: str = "bookworm"
    gpus: int = 0
    tmpfs_mb: int = 0
    engine: str = ""  # the engine's daemon.json
    shell: str = "bash"  # the login shell of an untidy host (machine/untidy); empty for a clean host
    time_zone: str = "Europe/Berlin"
    clock_s: float = 0.0
    home: str = ""  # the name of a volume that hosts share as /home

    @property
    def second_address(self) -> str:
        return SECOND_PREFIX + self.address.rpartition(".")[2]

    @property
    def container(self) -> str:
        return f"{NETWORK}-{self.name}"

    volume = container

    @property
    def home_volume(self) -> str:
        return f"{NETWORK}-home-{self.home}" if self.home else ""


@dataclass(frozen=True)
class LabSettings:
    """What all hosts of a lab share: the mode of privileges, and the key that may log in."""

    mode: str
    public_key: str


def numbered_specs(count: int) -> list[HostSpec]:
    """Return the specifications of h1 to hN, with addresses from 198.18.0.11 up.

    The first three differ in shell, time zone and clock, h4 is clean, the others are untidy with bash. With
    HVDOCKER_LAB_CLEAN=1 all are clean: what people type by hand, as `make bench` does, fails on untidy hosts."""
    numbers = range(1, count + 1)
    kinds = dict.fromkeys(numbers, CLEAN) if os.environ.get("HVDOCKER_LAB_CLEAN") == "1" else ODDITIES
    return [HostSpec(f"h{number}", f"{PREFIX}{10 + number}", **kinds.get(number, {})) for number in numbers]


def create_arguments(engine: docker.APIClient, spec: HostSpec, ground: LabSettings, image: str) -> dict[str, Any]:
    """Return the arguments of the SDK's create_container."""
    return {
        "image": image,
        "name": spec.container,
        "hostname": spec.name,
        "environment": {
            "LAB_NAME": spec.container,
            "LAB_PUBLIC_KEY": ground.public_key,
            "LAB_GPUS": str(spec.gpus),
            "LAB_ENGINE": spec.engine,
            "LAB_SHELL": spec.shell,
            "LAB_TIME_ZONE": spec.time_zone,
            "LAB_CLOCK_S": str(spec.clock_s),
        },
        "labels": {**LABELS, SPEC_LABEL: fingerprint(spec, ground, image), ADDRESS_LABEL: spec.address},
        "host_config": _host_config(engine, spec, ground),
        "networking_config": engine.create_networking_config(
            {NETWORK: engine.create_endpoint_config(ipv4_address=spec.address)}
        ),
    }


def fingerprint(spec: HostSpec, ground: LabSettings, image: str) -> str:
    words = [image, vars(spec), ground.mode, MODES[ground.mode], ground.public_key]
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:16]


def _host_config(engine: docker.APIClient, spec: HostSpec, ground: LabSettings) -> dict[str, Any]:
    # overlay2 does not nest on overlay2: a host's images are on a volume, or in memory for a small disk.
    images = "/var/lib/docker"
    config = engine.create_host_config(
        network_mode=NETWORK,
        cgroupns="host",
        binds=[
            "/sys/fs/cgroup:/sys/fs/cgroup:rw",
            *([] if spec.tmpfs_mb else [f"{spec.volume}:{images}"]),
            *([f"{spec.home_volume}:/home"] if spec.home else []),
        ],
        tmpfs={images: f"size={spec.tmpfs_mb}m,exec"} if spec.tmpfs_mb else None,
        log_config={"Type": "json-file", "Config": {"max-size": "5m"}},
    )
    return {**config, **MODES[ground.mode]}
