"""The scripts that query nvidia-smi on a host, and the parsers of their output. Pure; the scripts change nothing.

The output is `key value` lines. The query runs on an SSH channel of its own, and the controller stops waiting after a
time limit. This matters if the driver hangs: nvidia-smi is then in an uninterruptible sleep that not even SIGKILL ends,
and the channel has to be abandoned. Tested on fixtures only (tests/unit/fixtures/gpus), not on hardware."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.probe import ProbeAnswer, read_probe
from hvdocker.shell.command import Command, shell

# After this time the `timeout` command of the host, if it has one, tries to kill nvidia-smi. The limit on the
# controller (`GPU_TIMEOUT_S` in hosts.py) is a little longer.
NVIDIA_SMI_TIMEOUT_S = 10
HUNG_ERROR = f"nvidia-smi did not answer within {NVIDIA_SMI_TIMEOUT_S} s"
_TIMEOUT_CODES = ("124", "137")
# Code 14 is a success with a warning: the infoROM of a card is corrupted, and the output is complete.
_SUCCESS_CODES = ("0", "14")

# The name is the last field of every query, because it may contain commas. A driver that does not know a field
# is queried for fewer fields. If the first output has no UUID of a GPU, slices and processes are not queried.
# The script prints nothing while it waits for the driver, because the time limit on the controller starts again
# at every output.
_SCRIPT = r"""
limit=; command -v timeout >/dev/null 2>&1 && limit="timeout -s KILL $1"
form=--format=csv,noheader,nounits
most=index,uuid,memory.total,memory.used,utilization.gpu,temperature.gpu
for fields in $most,mig.mode.current,name $most,name index,uuid,name; do
    said=$($limit nvidia-smi --query-gpu=$fields $form 2>&1); code=$?
    case $said in *"not a valid field"*) ;; *) break;; esac
done
echo "fields $fields"
echo "code $code"
[ -z "$said" ] || printf '%s\n' "$said" | while IFS= read -r line; do printf '%s\n' "card $line"; done
if [ $code -ne 0 ]; then
    for device in "$2"/sys/bus/pci/devices/*; do
        [ -r "$device/vendor" ] || continue
        read -r vendor < "$device/vendor"; read -r class < "$device/class"
        case $vendor$class in 0x10de0x03*) echo "pci ${device##*/}";; esac
    done
fi
case $said in *GPU-*) ;; *) echo "done"; exit 0;; esac
case $fields:$said in
    *mig*:*Enabled*)
        said=$($limit nvidia-smi -L 2>&1); echo "listcode $?"
        printf '%s\n' "$said" | while IFS= read -r line; do printf '%s\n' "list $line"; done;;
esac
said=$($limit nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name $form 2>&1)
echo "appscode $?"
[ -z "$said" ] || printf '%s\n' "$said" | {
    paths=
    while IFS= read -r line; do
        printf '%s\n' "app $line"
        pid=${line#*,}; pid=${pid# }; pid=${pid%%,*}
        case $pid in ''|*[!0-9]*) continue;; esac
        paths="$paths /proc/$pid"
        [ -r "/proc/$pid/cgroup" ] || continue
        while read -r group; do
            [ ${#group} -gt 64 ] && echo "group $pid $group"
        done 2>/dev/null < "/proc/$pid/cgroup"
    done
    [ -z "$paths" ] || stat -c 'owner %n %u %U' $paths 2>/dev/null
}
echo "done"
"""


# Counts the cards only. A driver that hangs counts as one card.
_COUNT_SCRIPT = r"""
command -v nvidia-smi >/dev/null 2>&1 || { echo "count 0"; exit 0; }
limit=; command -v timeout >/dev/null 2>&1 && limit="timeout -s KILL $1"
said=$($limit nvidia-smi -L 2>/dev/null); code=$?
[ $code -eq 124 ] || [ $code -eq 137 ] && { echo "count 1"; exit 0; }
printf '%s\n' "$said" | { count=0
    while IFS= read -r line; do case $line in "GPU "*) count=$((count + 1));; esac; done
    echo "count $count"; }
"""


def count_gpus() -> Command:
    """Return a command that prints `count N`, the number of NVIDIA cards.

    N is 0 if the host has no nvidia-smi or nvidia-smi fails. N is 1 if the driver hangs, so that `timeout` ended
    nvidia-smi. If the driver hangs on a host without the program `timeout`, the command itself hangs."""
    return shell(_COUNT_SCRIPT, str(NVIDIA_SMI_TIMEOUT_S))


def query_gpus(top: str = "") -> Command:
    """Return the command that prints the GPUs of a host and their processes. `read_gpus` parses its output.

    `top` is put in front of the path /sys, so that a test can simulate a card on the PCI bus. Normally it is empty."""
    return shell(_SCRIPT, str(NVIDIA_SMI_TIMEOUT_S), top)


@dataclass(frozen=True)
class GpuAnswer:
    """The GPUs of a host as nvidia-smi reports them.

    If `error` is set, nothing is known about the GPUs, and `error` says why. `notes` are texts about warnings of the
    driver and about cards that cannot be used."""

    gpus: tuple[GpuSeen, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Card:
    """A card. `is_split` means that the card is in MIG mode, so that containers get its slices, not the card."""

    seen: GpuSeen
    is_split: bool


def read_gpus(text: str) -> GpuAnswer:
    """Parse `text`, the output of the command of `query_gpus`.

    Problems are returned in `error` and `notes` of the result, not raised."""
    answer = read_probe(text)
    code, apps, listing = (answer.values.get(key, "0") for key in ("code", "appscode", "listcode"))
    if not answer.is_complete:
        return GpuAnswer(error="the host did not say all about its GPUs")
    if any(one in _TIMEOUT_CODES for one in (code, apps, listing)):
        return GpuAnswer(error=HUNG_ERROR)
    lines = answer.all("card")
    cards = {line: card for line in lines if (card := _card(answer.values.get("fields", ""), line))}
    if not cards:
        said = " ".join(line.strip() for line in lines)
        # "No devices were found" is an error only if the PCI bus has an NVIDIA card. nvidia-smi without a
        # card is normal on a machine that lost its card, or on a copy of the disk of a machine that has one.
        is_none = code == "0" or not answer.all("pci")
        return GpuAnswer(error="" if is_none else said or f"nvidia-smi fails (exit {code})")
    if apps not in _SUCCESS_CODES:
        said = " ".join(line.strip() for line in answer.all("app"))
        return GpuAnswer(error=f"nvidia-smi does not tell who uses the GPUs: {said or f'exit {apps}'}")
    slices = _slices(answer.all("list"))
    found = tuple(_devices(cards.values(), slices))
    notes = [line.strip() for line in lines if line not in cards]
    notes += [
        f"GPU {card.seen.index} is in MIG mode and has no slices: it cannot be used"
        for card in cards.values()
        if card.is_split and card.seen.uuid not in slices
    ]
    return GpuAnswer(_with_processes(found, answer), notes=tuple(notes))


def _card(fields: str, line: str) -> _Card | None:
    """Parse one line of the card query. `fields` are the names of the queried fields, separated by commas.

    Return None if the line describes no usable card: it is a warning, or the card is lost."""
    keys = fields.split(",")
    values = dict(zip(keys, (part.strip() for part in line.split(",", len(keys) - 1)), strict=False))
    uuid = values.get("uuid", "")
    if not values.get("index", "").isdigit() or not uuid.startswith("GPU-") or not values.get("name"):
        return None
    seen = GpuSeen(
        index=int(values["index"]),
        uuid=uuid,
        model=values["name"],
        memory_mb=number_or_none(values.get("memory.total", "")),
        used_mb=number_or_none(values.get("memory.used", "")),
        utilization=number_or_none(values.get("utilization.gpu", "")),
        temperature=number_or_none(values.get("temperature.gpu", "")),
    )
    return _Card(seen, values.get("mig.mode.current") == "Enabled")


def number_or_none(text: str) -> int | None:
    """Return the number in `text`, a value that nvidia-smi printed, or None for `[N/A]`, `[Not Supported]`, `ERR!` and
    other words."""
    return int(text) if text.isascii() and text.isdigit() else None


_LISTED = re.compile(r"GPU \d+: .*\(UUID: (GPU-[^)\s]+)\)")
_SLICE = re.compile(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)\s]+)\)")


def _slices(lines: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the MIG slices of each card. The result maps the UUID of a card to the (profile, UUID) of its slices.

    A profile names the size of a slice, such as `1g.10gb`. `lines` is the output of `nvidia-smi -L`, which lists slices
    below their card."""
    found: dict[str, list[tuple[str, str]]] = {}
    card = ""
    for line in lines:
        if listed := _LISTED.match(line):
            card = listed[1]
        elif part := _SLICE.match(line):
            found.setdefault(card, []).append((part[1], part[2]))
    return found


def _devices(cards: Iterable[_Card], slices: Mapping[str, list[tuple[str, str]]]) -> Iterator[GpuSeen]:
    """Yield the devices that containers can get: a card itself, or the slices of a card in MIG mode.

    `slices` maps the UUID of a card to the (profile, UUID) of each of its MIG slices. A profile names the size of a
    slice."""
    for card in cards:
        if not card.is_split:
            yield card.seen
            continue
        for profile, uuid in slices.get(card.seen.uuid, ()):
            size = re.search(r"(\d+)gb", profile)
            yield GpuSeen(
                index=card.seen.index,
                uuid=uuid,
                model=f"{card.seen.model} MIG {profile}",
                memory_mb=int(size[1]) * 1024 if size else None,
                temperature=card.seen.temperature,
                parent=card.seen.uuid,
            )


def _with_processes(gpus: Iterable[GpuSeen], answer: ProbeAnswer) -> tuple[GpuSeen, ...]:
    """Return the GPUs with their processes, which are read from `answer`, the parsed output of `query_gpus`.

    The driver lists processes by card. So a process on a card in MIG mode is added to every slice of that card."""
    programs: dict[str, list[GpuProcess]] = {}
    users, containers = _users_by_pid(answer.all("owner")), _containers_by_pid(answer.all("group"))
    for line in answer.all("app"):
        gpu, pid, used, name = (*(part.strip() for part in line.split(",", 3)), "", "", "")[:4]
        number = number_or_none(pid) or 0
        program = GpuProcess(number, _process_name(name), users.get(number, ""), number_or_none(used))
        programs.setdefault(gpu, []).append(replace(program, container=containers.get(number, "")))
    return tuple(_set_processes(gpu, (*programs.get(gpu.uuid, ()), *programs.get(gpu.parent, ()))) for gpu in gpus)


def _set_processes(gpu: GpuSeen, programs: Iterable[GpuProcess]) -> GpuSeen:
    """Return the GPU with the processes `programs`.

    For a process whose id nvidia-smi did not print (`pid` is 0), the used memory of the whole GPU is set as its
    memory."""
    known = (one if one.pid else replace(one, used_mb=gpu.used_mb) for one in programs)
    return replace(gpu, processes=tuple(known))


def _process_name(name: str) -> str:
    return "" if name.startswith("[") else name


def _users_by_pid(lines: Iterable[str]) -> dict[int, str]:
    """Return the user names by process id, from lines such as `/proc/7 1000 ada`.

    If the name of a user is unknown, the uid is used."""
    found = {}
    for line in lines:
        path, uid, name = (*line.split(" "), "", "", "")[:3]
        pid = number_or_none(path.removeprefix("/proc/"))
        if pid is not None:
            found[pid] = uid if name in ("", "UNKNOWN") else name
    return found


def _containers_by_pid(lines: Iterable[str]) -> dict[int, str]:
    """Return the container ids by process id, from lines with a process id and its cgroup path.

    An engine may itself run in a container, so a path may have several ids. The last id in the path is used: that of
    the innermost container. Processes outside of containers are left out."""
    found = {}
    for line in lines:
        pid, _, group = line.partition(" ")
        ids = re.findall(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", group)
        if ids and pid.isdigit():
            found[int(pid)] = ids[-1]
    return found
