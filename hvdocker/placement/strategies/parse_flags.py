"""Parses the flags `--gpu A100:80GB` and `-H a:2,b:1`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hvdocker.errors import UsageProblem
from hvdocker.placement.slots import GpuRequest
from hvdocker.protocol.placement import Share
from hvdocker.units import MIB, parse_bytes

_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)?\s*[MGT]i?B?", re.IGNORECASE)
LOCALHOST = "localhost"


def parse_gpu(text: str) -> GpuRequest:
    """Parse the value of `--gpu`: a model, a minimum memory, `MODEL:MEMORY`, or `none`.

    Raises UsageProblem for any other text."""
    words = text.strip()
    if words.lower() == "none":
        return GpuRequest(is_none=True)
    if _MEMORY.fullmatch(words):
        words = f":{words}"
    model, colon, memory = (part.strip() for part in words.partition(":"))
    if (colon and not _MEMORY.fullmatch(memory)) or (model and not re.search("[A-Za-z0-9]", model)):
        raise _gpu_flag_error(text)
    memory_mb = (parse_bytes(memory) or 0) // MIB
    if not memory_mb and (colon or not model):
        raise _gpu_flag_error(text)
    return GpuRequest(model, memory_mb)


def parse_hosts_flag(text: str, hosts: Sequence[str], aliases: Mapping[str, str] = {}) -> tuple[Share, ...]:
    """Return the hosts and slots in `text`, the value of the flag `-H host:slots,...`. Raise UsageProblem if it
    is malformed or names a host twice. A host that is neither in `hosts` nor in `aliases` is returned as it is written.

    `aliases` maps other names of hosts, such as addresses, to the names in `hosts`. Unless a host has the name
    `localhost`, that word stands for the head: the first of `hosts` that the flag does not name otherwise."""
    parts = [_parse_host_slots(part) for part in text.split(",")]
    own = [name if name in hosts or name == LOCALHOST else aliases.get(name, name) for name, _ in parts]
    if LOCALHOST in own and LOCALHOST not in hosts:
        head = next((host for host in hosts if host not in own), hosts[0])
        own = [head if name == LOCALHOST else name for name in own]
    if len(set(own)) != len(own):
        raise UsageProblem(f"-H names a host twice, perhaps by its name and its address: {text}")
    return tuple(Share(name, slots) for name, (_, slots) in zip(own, parts, strict=True))


def _parse_host_slots(text: str) -> tuple[str, int]:
    """Parse `host:slots`, such as `gpu-a:2`, into a pair. An IPv6 address may be in brackets: `[::1]:2`. Raise
    UsageProblem if the text has another form or the number is below 1."""
    host, _, slots = text.strip().rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,9}", slots) or int(slots) < 1:
        raise UsageProblem(f"-H should look like a:2,b:1, got {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(slots)


def _gpu_flag_error(text: str) -> UsageProblem:
    return UsageProblem(
        f"--gpu should look like A100, A100:80GB, 80GB or none, got {text!r}", fix="see what there is: hvdocker gpus"
    )
