"""Finds training addresses on which a worker could not listen, or by which no other host could reach it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.cluster.plan.addresses import (
    ALL_IPV4,
    address_fix,
    address_fix_from,
    describe_addresses,
    is_in_network,
    is_loopback,
)
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.placement.host_plan import HostPlan


def address_problems(host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return problems of training addresses. `host_plans` has the plan of each host, with its training address.

    Problems are: a loopback address if there are several hosts, two hosts with the same address, two hosts that are the
    same machine, and an IPv6 address, which no launcher accepts."""
    loopback: list[HvdockerError] = [
        HostUnfit(
            f"the training address is {place.address}, which other hosts cannot reach",
            host=name,
            command="ip -o addr",
            lines=[describe_addresses(place.seen)],
            fix=address_fix_from(_own_addresses(place, host_plans) or place.seen.addresses),
        )
        for name, place in host_plans.items()
        if len(host_plans) > 1 and not place.host.is_local and is_loopback(place.address)
    ]
    return loopback + _duplicate_and_ipv6_problems(host_plans)


def _duplicate_and_ipv6_problems(host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return the problems of hosts that have the training address of an earlier host, or are the machine of an earlier
    host.

    Each IPv6 training address is a problem too. `host_plans` has the plan of each host."""
    first: dict[str, str] = {}
    problems: list[HvdockerError] = _same_machine_problems(host_plans)
    for name, place in host_plans.items():
        other = first.setdefault(place.address, name)
        if other != name:
            problems.append(
                HostUnfit(
                    f"it has the same training address as {other}: {place.address}",
                    host=name,
                    command="ip -o addr",
                    lines=[f"{other} and {name}: {place.address}"],
                    fix="name a machine once, or give it an `address:` of its own",
                )
            )
        if ":" in place.address:
            problems.append(
                HostUnfit(
                    f"the training address {place.address} is IPv6, and ranks need IPv4 between hosts",
                    host=name,
                    command="ip -o addr",
                    lines=[describe_addresses(place.seen)],
                    fix=_ipv4_fix(place, host_plans),
                )
            )
    return problems


def _ipv4_fix(place: HostPlan, host_plans: Mapping[str, HostPlan]) -> str:
    """Return advice for a host whose training address is IPv6: an IPv4 address that only this host has.

    `place` is the plan of this host, `host_plans` has the plans of all hosts. An address that several hosts have, such
    as that of docker0, is not advised: each host would reach only itself by it. If no address is left, the advice names
    none."""
    own = _own_addresses(place, host_plans)
    if any(is_in_network(address, ALL_IPV4) for address in own):
        return address_fix_from(own)
    return "give this host an IPv4 address that the other hosts can reach, and write it as its `address:`"


def _own_addresses(place: HostPlan, host_plans: Mapping[str, HostPlan]) -> list[str]:
    """Return the addresses that the host of `place` has and no other host in `host_plans` has.

    This leaves out addresses such as that of docker0, which is the same on most hosts."""
    others = {address for one in host_plans.values() if one is not place for address in one.seen.addresses}
    return [address for address in place.seen.addresses if address not in others]


def _same_machine_problems(host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return one problem for each host that is the same machine as an earlier host, by another address.

    `host_plans` has the plan of each host. Hosts of a local cluster are not checked."""
    hosts = [place for place in host_plans.values() if not place.host.is_local]
    return [
        HostUnfit(
            f"{other.name} and {place.name} are one machine, which the inventory names twice",
            host=place.name,
            command="docker info --format '{{.ID}}'",
            lines=[f"{other.address} ({other.name}) and {place.address} ({place.name}) lead to the same Docker engine"],
            fix=f"leave {place.name} out of the inventory, and give {other.name} more `slots:` instead",
        )
        for index, place in enumerate(hosts)
        for other in [one for one in hosts[:index] if _is_same_machine(one, place)][:1]
    ]


def _is_same_machine(one: HostPlan, other: HostPlan) -> bool:
    """Return whether two hosts are one machine.

    They are if a container was seen on both, or if both have the same engine id and the same boot id. The engine id
    alone is not enough, because cloned virtual machines keep that of their template. Containers are compared because an
    engine that already runs the cluster's worker was not asked for its id. Return False for two hosts with the same
    training address, which another check reports."""
    if one.address == other.address:
        return False  # the check of addresses reports it
    containers = [{c.id for c in (*place.seen.containers, *place.seen.other_containers)} for place in (one, other)]
    keys = {(place.seen.engine.id, place.seen.boot_id) for place in (one, other)}
    return bool(containers[0] & containers[1]) or (len(keys) == 1 and all(next(iter(keys))))


def missing_address_problems(host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return one problem for each training address in `host_plans` that no interface of its host has.

    A worker cannot listen on such an address. Not checked are loopback addresses, text that is no IPv4 address, hosts
    of a local cluster, and hosts whose addresses are unknown."""
    return [
        HostUnfit(
            f"the training address {place.address} is on no interface of this host",
            host=name,
            command="ip -o addr",
            lines=[describe_addresses(place.seen)],
            fix=f"{address_fix(place.seen)} (behind NAT it cannot train)",
        )
        for name, place in host_plans.items()
        if not place.host.is_local
        and place.seen.addresses
        and is_in_network(place.address, ALL_IPV4)
        and not is_loopback(place.address)  # a host without `ip` does not report loopback
        and place.address not in place.seen.addresses
    ]
