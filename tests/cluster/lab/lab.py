"""The lab as a whole: creates hosts, finds them by label, and removes them.

Labels on this machine's engine are the source of truth; the folder `.lab/` has only keys and cached findings.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.utils
import yaml

from hvdocker.transport.docker_api import EngineClient
from tests.cluster.lab.cgroups import remove_cgroups
from tests.cluster.lab.host import LabHost
from tests.cluster.lab.image import ensure_host_image, prune_images
from tests.cluster.lab.network import ensure_network, remove_network
from tests.cluster.lab.privileges import choose_mode
from tests.cluster.lab.spec import (
    ADDRESS_LABEL,
    FIRST_SPECIAL,
    LABEL_FILTER,
    LABELS,
    NETWORK,
    PREFIX,
    SECOND_NETWORK,
    SPEC_LABEL,
    HostSpec,
    LabSettings,
    create_arguments,
    fingerprint,
    numbered_specs,
)
from tests.cluster.lab.state import LabState
from tests.cluster.lab.wait import LabError, in_parallel

LAB_FILTERS = {"label": LABEL_FILTER}
HOST_FILTERS = {"label": [LABEL_FILTER, ADDRESS_LABEL]}


def _say(text: str) -> None:
    print(f"lab: {text}", file=sys.stderr, flush=True)


@dataclass
class Lab:
    """All hosts of one lab. `used` has the names of the hosts that this process asked for."""

    engine: docker.APIClient
    state: LabState
    say: Callable[[str], None] = _say
    used: set[str] = field(default_factory=set)

    @classmethod
    def attach(cls, say: Callable[[str], None] = _say) -> "Lab":
        try:
            engine = EngineClient(timeout=900, max_pool_size=32, **docker.utils.kwargs_from_env())
            engine.ping()
        except docker.errors.DockerException as error:
            raise LabError(f"no Docker engine answers: run tests/setup/engine.sh\n{error}") from error
        return cls(engine, LabState.open(), say)

    # Creating

    def ensure(self, count: int) -> list[LabHost]:
        """Return h1 to hN, running and healthy; create or repair those that are not."""
        return self._ensure(lambda: numbered_specs(count))

    def fresh(self, count: int) -> list[LabHost]:
        """Return h1 to hN with nothing on them but images."""
        found = self.ensure(count)
        in_parallel(LabHost.reset, found)
        return found

    def ensure_special(self, name: str, **kind: Any) -> LabHost:
        """Return a host that differs from the others in `suite`, `gpus`, `tmpfs_mb`, `engine` or `home` of its
        HostSpec."""
        return self._ensure(lambda: [HostSpec(name, self._address(name), **kind)])[0]

    def _ensure(self, specs: Callable[[], list[HostSpec]]) -> list[LabHost]:
        with self.state.locked():
            wanted = specs()
            suites = {spec.suite for spec in wanted}
            with self.state.machine_locked():
                images = {suite: ensure_host_image(self.engine, suite, self.say) for suite in suites}
            mode = choose_mode(self.engine, next(iter(images.values())), self.state, self.say)
            ground = LabSettings(mode, self.state.public_key())
            self._remove_stale()
            ensure_network(self.engine)
            made = in_parallel(lambda spec: self._ensure_one(spec, ground, images[spec.suite]), wanted)
            self.state.pin({host.address: key for host, key in made})
        self.used |= {host.name for host, _ in made}
        return [host for host, _ in made]

    def _remove_stale(self) -> None:
        """Remove everything of the lab if no host runs, as after the engine was killed."""
        if not self.engine.containers(filters={**LAB_FILTERS, "status": "running"}):
            self._remove_all()

    def _ensure_one(self, spec: HostSpec, ground: LabSettings, image: str) -> tuple[LabHost, str]:
        host = self._host(spec.name, spec.address, spec.suite)
        if self._is_current(spec, fingerprint(spec, ground, image)):
            try:
                host.repair()
                return host, host.wait_ready()
            except LabError as error:
                self.say(f"{spec.name} does not come back: {error}")
        self._remove(spec.container)
        self.say(f"making {spec.name} ({spec.suite}, {spec.address})")
        if not spec.tmpfs_mb:
            self.engine.create_volume(spec.volume, labels=LABELS)
        if spec.home:
            self.engine.create_volume(spec.home_volume, labels=LABELS)
        self.engine.create_container(**create_arguments(self.engine, spec, ground, image))
        self.engine.connect_container_to_network(spec.container, SECOND_NETWORK, ipv4_address=spec.second_address)
        self.engine.start(spec.container)
        return host, host.wait_ready()

    def _is_current(self, spec: HostSpec, wanted: str) -> bool:
        try:
            seen = self.engine.inspect_container(spec.container)
        except docker.errors.NotFound:
            return False
        is_same = seen["Config"]["Labels"].get(SPEC_LABEL) == wanted
        return bool(is_same and seen["State"]["Status"] == "running")

    def _host(self, name: str, address: str, suite: str) -> LabHost:
        return LabHost(name, address, suite, self.engine, self.state.key)

    def _address(self, name: str) -> str:
        """Return the address of a special host: its own while it exists, otherwise the first free one."""
        taken = {seen["Names"][0].lstrip("/"): seen["Labels"][ADDRESS_LABEL] for seen in self._seen()}
        free = (f"{PREFIX}{last}" for last in range(FIRST_SPECIAL, 255))
        known = taken.get(HostSpec(name, "").container)
        return known or next(address for address in free if address not in taken.values())

    # Finding

    def _seen(self) -> list[dict[str, Any]]:
        return list(self.engine.containers(all=True, filters=HOST_FILTERS))

    def hosts(self) -> list[LabHost]:
        """Return the hosts that exist, in any state, in the order of their addresses."""
        found = [
            self._host(seen["Names"][0].removeprefix(f"/{NETWORK}-"), seen["Labels"][ADDRESS_LABEL], "")
            for seen in self._seen()
        ]
        return sorted(found, key=lambda host: int(host.address.rsplit(".", 1)[1]))

    def write_inventory(
        self,
        path: Path,
        hosts: Sequence[LabHost],
        user: str = "trainer",
        host_slots: Mapping[str, int] | None = None,
        **extra: Any,
    ) -> Path:
        """Write an inventory of these hosts; extra keys go to its top level. `host_slots` are slots by name."""
        slots = host_slots or {}
        inventory = {
            "cluster": "lab",
            "ssh": {"user": user, "key": str(self.state.key)},
            **extra,
            "hosts": [
                {"host": host.address, "name": host.name, **({"slots": slots[host.name]} if host.name in slots else {})}
                for host in hosts
            ],
        }
        path.write_text(yaml.safe_dump(inventory, sort_keys=False))
        return path

    # Removing

    def down(self) -> None:
        with self.state.locked():
            self._remove_all()
            remove_cgroups()
            self.state.forget()

    def remove(self, host: LabHost) -> None:
        with self.state.locked():
            self._remove(host.container)

    def prune(self) -> None:
        """Remove what no running host needs: dead hosts, volumes without a host, images without a tag."""
        with self.state.locked():
            dead = [seen["Names"][0] for seen in self._seen() if seen["State"] != "running"]
            in_parallel(self._remove, [name.lstrip("/") for name in dead])
            for volume in self._volumes():
                self._remove_volume(volume)
            self.say(f"{len(dead)} dead hosts and {prune_images(self.engine)} old images removed")

    def _remove_all(self) -> None:
        names = [seen["Names"][0].lstrip("/") for seen in self.engine.containers(all=True, filters=LAB_FILTERS)]
        in_parallel(self._remove, names)
        for volume in self._volumes():
            self._remove_volume(volume)
        remove_network(self.engine)

    def _remove(self, container: str) -> None:
        with suppress(docker.errors.NotFound):
            self.engine.remove_container(container, force=True, v=True)
        self._remove_volume(container)

    def _volumes(self) -> list[str]:
        return [volume["Name"] for volume in self.engine.volumes(filters=LAB_FILTERS)["Volumes"] or []]

    def _remove_volume(self, name: str) -> None:
        try:
            self.engine.remove_volume(name)
        except docker.errors.NotFound:
            pass
        except docker.errors.APIError as error:
            if error.status_code != 409:  # 409: a host still uses it
                raise
