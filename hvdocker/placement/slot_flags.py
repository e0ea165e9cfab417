"""Turns the flags that select slots into a SlotRequest for the hosts of an inventory. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from hvdocker.errors import UsageProblem
from hvdocker.inventory.inventory import Inventory
from hvdocker.placement.slots import STRATEGIES, SlotRequest
from hvdocker.placement.strategies import LOCALHOST, parse_gpu, parse_hosts_flag
from hvdocker.protocol.placement import Share

# Far more than the slots of any cluster that is reached over SSH. Independent ranks may wait for slots.
MOST_RANKS = 1_000_000


@dataclass(frozen=True)
class SlotFlags:
    """The values of `-np`, `-H`, `--strategy`, `--gpu`, `--include` and `--exclude`; None if not given."""

    np: int | None = None
    hosts: str | None = None
    strategy: str | None = None
    gpu: str | None = None
    include: str | None = None
    exclude: str | None = None

    @property
    def is_empty(self) -> bool:
        return self == SlotFlags()


def check_slot_flags(wanted: SlotFlags) -> None:
    """Raise UsageProblem for flags that are wrong in any cluster: `-np` below 1, an unknown strategy, a malformed
    `--gpu` or `-H`, an `--include` or `--exclude` without a host, or `-H` together with `--strategy`. This needs no
    inventory, so it can run before any host is contacted."""
    if wanted.np is not None and wanted.np < 1:
        raise UsageProblem(f"-np should be at least 1, got {wanted.np}")
    if wanted.np is not None and wanted.np > MOST_RANKS:
        raise UsageProblem(f"-np should be at most {MOST_RANKS}, got {wanted.np}")
    if wanted.strategy and wanted.strategy not in STRATEGIES:
        raise UsageProblem(f"there is no strategy {wanted.strategy!r}", fix=f"strategies are {', '.join(STRATEGIES)}")
    for flag, text in (("--include", wanted.include), ("--exclude", wanted.exclude)):
        if text is not None and not _words(text):
            raise UsageProblem(f"{flag} names no host", fix=f"write at least one, as in {flag} gpu-a,gpu-b")
    if wanted.hosts and wanted.strategy:
        raise UsageProblem("-H and --strategy exclude each other: -H says where every rank goes")
    if wanted.gpu:
        parse_gpu(wanted.gpu)
    if wanted.hosts:
        parse_hosts_flag(wanted.hosts, [LOCALHOST])


def check_named_hosts(wanted: SlotFlags, inventory: Inventory) -> None:
    """Raise UsageProblem if `-H`, `--include` or `--exclude` names a host that the inventory does not have. An address
    is not refused here: it may be the training address of a host, which is known only after the host was observed."""
    names = [host.name for host in inventory.hosts]
    known = {LOCALHOST, *names, *(host.host for host in inventory.hosts)}
    placed = [share.host for share in parse_hosts_flag(wanted.hosts, [*known])] if wanted.hosts else []
    for flag, words in (
        ("-H", placed),
        ("--include", _words(wanted.include)),
        ("--exclude", _words(wanted.exclude)),
    ):
        strangers = [word for word in words if word not in known and not _is_address(word)]
        if strangers:
            raise _unknown_hosts_error(flag, strangers, names)


def slot_request(wanted: SlotFlags, inventory: Inventory, addresses: Mapping[str, str] = {}) -> SlotRequest:
    """Return the request that the flags describe. Raise UsageProblem for wrong flags and for unknown hosts.

    Flags may name a host by its name, its training address, or its `host:` in the inventory. `addresses` maps the
    names of the cluster's hosts to their training addresses, as far as they are known; it may be empty."""
    check_slot_flags(wanted)
    names = [host.name for host in inventory.hosts]
    aliases = {address: name for name, address in addresses.items()}
    aliases |= {host.address: host.name for host in inventory.hosts if host.address}
    aliases |= {host.host: host.name for host in inventory.hosts if not host.is_local}
    exact = parse_hosts_flag(wanted.hosts, [*addresses] or names, aliases) if wanted.hosts else ()
    strangers = [share.host for share in exact if share.host not in names]
    if strangers:
        raise _unknown_hosts_error("-H", strangers, names)
    return SlotRequest(
        head=_localhost_head(wanted.hosts or "", exact, names),
        np=wanted.np,
        strategy=wanted.strategy or "pack",
        gpu=parse_gpu(wanted.gpu) if wanted.gpu else None,
        include=_parse_host_list("--include", wanted.include, names, aliases),
        exclude=_parse_host_list("--exclude", wanted.exclude, names, aliases),
        exact=exact,
    )


def _localhost_head(text: str, exact: tuple[Share, ...], names: list[str]) -> str:
    """Return the host for which the word `localhost` stands in `-H`. Return an empty string if `-H` does not have this
    word, or if a host of the inventory has this name.

    This host becomes the head, however many slots it has, because `localhost` means the host on which the launcher
    runs. `text` is the value of `-H`, and `exact` its parsed shares (slots of each host). `names` are the
    inventory's hosts."""
    words = [part.strip().rpartition(":")[0] for part in text.split(",")]
    if LOCALHOST not in words or LOCALHOST in names:
        return ""
    return exact[words.index(LOCALHOST)].host


def _parse_host_list(flag: str, text: str | None, names: list[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    found = [word if word in names else aliases.get(word, word) for word in _words(text)]
    strangers = [name for name in found if name not in names]
    if strangers:
        raise _unknown_hosts_error(flag, strangers, names)
    return tuple(dict.fromkeys(found))


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _is_address(word: str) -> bool:
    try:
        ip_address(word)
    except ValueError:
        return False
    return True


def _unknown_hosts_error(flag: str, strangers: list[str], names: list[str]) -> UsageProblem:
    return UsageProblem(
        f"{flag} names {', '.join(map(repr, strangers))}, not in the inventory", fix=f"hosts are {', '.join(names)}"
    )
