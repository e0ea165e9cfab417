"""Reasons why the pairs of a host are not checked, each with its fix if there is one. Pure."""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Mapping, Set

from hvdocker import names
from hvdocker.doctor.pairs.pair_results import SkipReason
from hvdocker.errors import HvdockerError
from hvdocker.images.targets import build_command, from_command
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan

_OWN_ADDRESS = "give this host an `address:` of its own, or set `network:`"


def hosts_to_skip(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    reached: Set[str],
    inventory_flag: str,
) -> dict[str, SkipReason]:
    """Return the hosts whose pairs cannot be checked from a container of the training image, each with the reason.

    `reached` are the hosts that have a link, and `host_plans` has the plans of those that could be planned; all others
    are skipped. `inventory_flag` (`-i FILE`) is added to the `hvdocker image push` that a reason suggests."""
    found: dict[str, SkipReason] = {}
    addresses = [place.address for place in host_plans.values()]
    for host in inventory.hosts:
        if host.name not in reached:
            found[host.name] = SkipReason("not reached", (f"{host.name} was not reached",))
        elif host.name not in host_plans:
            found[host.name] = SkipReason("not seen", (f"{host.name} was reached, but it is not fit",))
        elif host.is_local:
            found[host.name] = _local(host.name)
        else:
            place = host_plans[host.name]
            why = _address(place, addresses) or _image(inventory, state, place, inventory_flag)
            found |= {host.name: why} if why else {}
    return found


def _local(name: str) -> SkipReason:
    line = f"{name} is a container of this machine: there is no network between workers before they are up"
    return SkipReason("not up", (line,), "hvdocker up")


def _address(place: HostPlan, all_addresses: list[str]) -> SkipReason | None:
    """Return a reason if other hosts cannot reach the host of `place` at its training address, else None.

    There are three reasons. No interface has the address, so nothing can listen on it. It is a loopback address, at
    which each host reaches itself. Or another host has the same address. `all_addresses` are the training addresses of
    all hosts."""
    name, address = place.name, place.address
    if place.seen.addresses and address not in place.seen.addresses:
        line = f"no interface of {name} has its training address {address}: nothing can listen on it"
    elif len(all_addresses) > 1 and _is_loopback(address):
        line = f"the training address of {name} is {address}, which only {name} itself can reach"
    elif all_addresses.count(address) > 1:
        line = f"the training address of {name} is {address}, and that of another host too"
    else:
        return None
    return SkipReason("address", (line, f"see the network check of {name}"), _OWN_ADDRESS)


def _is_loopback(address: str) -> bool:
    """Whether the address is a loopback address. False for a host name.

    The training address may be a host name if the host did not report the address by which it was reached."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _image(inventory: Inventory, state: ClusterState, place: HostPlan, inventory_flag: str) -> SkipReason | None:
    image, name = inventory.image, place.name
    if place.seen.image is None:
        is_nowhere = state.controller_image is None and not any(seen.image for seen in state.hosts.values())
        line = f"{name} has no image {image}: what can be reached is tried from inside it"
        return SkipReason("no image", (line,), _build(image) if is_nowhere else _push(inventory_flag))
    if not place.seen.image.is_ours:
        line = f"the image {image} on {name} is not made for hvdocker (no label {names.LABEL_IMAGE})"
        return SkipReason("other image", (line,), from_command(image))
    return None


def _push(inventory_flag: str) -> str:
    return f"hvdocker image push {inventory_flag}".strip()


def _build(image: str) -> str:
    if image in names.OWN_IMAGES:
        return build_command(image)
    return shlex.join(("docker", "pull", image))


def old_image_reason(inventory: Inventory, name: str, said: str) -> SkipReason:
    """Return the reason for a host whose image is of an older hvdocker and lacks the program `check` or this check.

    `name` is the host. `said` is the standard error of the check."""
    line = f"the image {inventory.image} on {name} comes from an older hvdocker: its checks are fewer"
    build = _build(inventory.image) if inventory.image in names.OWN_IMAGES else f"rebuild {inventory.image}"
    return SkipReason("old image", (line, *said.splitlines()[-1:]), f"{build} && hvdocker up")


def no_listener_reason(name: str, why: str, said: str) -> SkipReason:
    """Return the reason for a host on which `check listen` or `check pairs` gave no usable answer.

    `name` is the host, `why` the text that says what is wrong, and `said` the standard error of the check program."""
    fix = "give this host an `address:` that one of its interfaces has" if "cannot listen" in why else None
    return SkipReason("no answer", (f"{name}: {why}", *said.splitlines()[-3:]), fix)


def failure_reason(error: HvdockerError) -> SkipReason:
    """Return the reason for a host on which a check failed with this error, such as a lost link."""
    return SkipReason("failed", (str(error), *error.lines), error.fix)
