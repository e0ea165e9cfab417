"""Scripts that read facts of a host without its engine, so that they work even if the engine is the problem.

The scripts change nothing. `query_machine` and `query_cards` print `key value` lines, which `read_machine` parses. One
script reads all facts of `MachineSeen` in one round trip, except those of the NVIDIA driver. Its first argument is a
prefix for /sys and /proc, so that a test can simulate other hardware."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker.observe.gpu_query import HUNG_ERROR, NVIDIA_SMI_TIMEOUT_S
from hvdocker.shell.command import Command, shell

_SCRIPT = r"""
top=$1; root=$2; cluster=$3; count=$4; shift 4
limit=; short=; command -v timeout >/dev/null 2>&1 && limit="timeout 10" && short="timeout 5"
if cd -P ~ 2>/dev/null; then home=$PWD; else home=$HOME; fi
echo "kernel $(uname -sr)"
name=$(cat "$top/proc/sys/kernel/hostname" 2>/dev/null || hostname); echo "hostname $name"
while read -r key value _; do
    case $key in MemTotal:) echo "memtotal $value";; MemAvailable:) echo "memfree $value";; esac
done < "$top/proc/meminfo" 2>/dev/null
echo "cpus $(nproc 2>/dev/null || grep -c '^processor' "$top/proc/cpuinfo" 2>/dev/null)"
read -r load _ < "$top/proc/loadavg" 2>/dev/null && echo "load $load"
echo "user $(id -un 2>/dev/null)"
for dir in "$home" "$home/.hvdocker" "$home/.hvdocker/$cluster" /tmp; do
    [ ! -e "$dir" ] && [ "$dir" != "$home" ] || [ -w "$dir" ] || echo "unwritable $dir"
done
disk() {
    $limit df -Pk "$2" 2>/dev/null \
        | { read -r _; read -r _ total _ left _ && echo "disk $1 $total $left $2"; }
    $limit df -Pi "$2" 2>/dev/null \
        | { read -r _; read -r _ total _ left _ && echo "inodes $1 $total $left $2"; }
}
context() {
    [ ! -r "$top/sys/fs/selinux/enforce" ] || echo "context $(stat -c %C "$1" 2>/dev/null || echo -) $1"
}
disk images "$root"
disk home "$home"
disk tmp /tmp
context "$home/.hvdocker"
while [ "$count" -gt 0 ]; do disk mount "$1"; context "$1"; shift; count=$((count - 1)); done
lookup() {
    if command -v getent >/dev/null 2>&1; then
        found=$($short getent ahostsv4 "$1" 2>/dev/null || $short getent hosts "$1" 2>/dev/null)
        echo "$found" | while read -r address _; do [ -z "$address" ] || echo "$address"; done | sort -u
    else
        while read -r address names; do
            case " $names " in *" $1 "*) echo "$address";; esac
        done < /etc/hosts 2>/dev/null
    fi
}
# All at once: where no name server answers, each takes its whole time.
for peer in "$name" "$@"; do { echo "resolves $peer $(echo $(lookup "$peer"))"; } & done
wait
for dir in "$top"/sys/class/infiniband/*/ports/*; do
    [ -r "$dir/state" ] || continue
    rate=; layer=; read -r state < "$dir/state"
    [ -r "$dir/rate" ] && read -r rate < "$dir/rate"
    [ -r "$dir/link_layer" ] && read -r layer < "$dir/link_layer"
    port=${dir##*/}; device=${dir%/ports/*}; echo "fabric ${device##*/}|$port|$state|$rate|$layer"
done
[ -r "$top/sys/fs/selinux/enforce" ] && echo "selinux $(cat "$top/sys/fs/selinux/enforce")"
[ -r "$top/sys/module/apparmor/parameters/enabled" ] \
    && echo "apparmor $(cat "$top/sys/module/apparmor/parameters/enabled")"
for tool in /sbin/apparmor_parser /usr/sbin/apparmor_parser; do [ -x "$tool" ] && echo "parser $tool"; done
for device in "$top"/sys/bus/pci/devices/*; do
    [ -r "$device/vendor" ] || continue
    read -r vendor < "$device/vendor"; read -r class < "$device/class"
    case $vendor$class in 0x10de0x03*) echo "card ${device##*/}";; esac
done
for dir in /var/tmp/hvdocker-feed-*; do [ -d "$dir" ] && echo "feed $dir"; done
echo "done"
"""

# Runs on its own channel, because nvidia-smi cannot be killed if the driver hangs, and the channel is then abandoned.
_CARDS_SCRIPT = r"""
command -v nvidia-smi >/dev/null 2>&1 || exit 0
limit=; command -v timeout >/dev/null 2>&1 && limit="timeout -s KILL $1"
form="--format=csv,noheader,nounits"
basic=index,uuid,name,memory.total,memory.used,driver_version
said=$($limit nvidia-smi --query-gpu=$basic,persistence_mode,mig.mode.current $form 2>&1); code=$?
[ $code -ne 2 ] || { said=$($limit nvidia-smi --query-gpu=$basic $form 2>&1); code=$?; }
case $code in
    0)
        echo "$said" | while read -r line; do echo "gpu $line"; done
        $limit nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory $form 2>/dev/null \
            | while IFS=, read -r gpu pid program used; do
                pid=$(echo $pid); user=; [ -n "$pid" ] && user=$(stat -c %U "/proc/$pid" 2>/dev/null)
                [ -z "$pid" ] || echo "gpuuser $gpu,$pid,$program,$used,$user"
            done;;
    124|137) echo "gpuerror $2";;
    *) echo "$said" | while read -r line; do [ -z "$line" ] || echo "gpuerror $line"; done;;
esac
"""


def query_machine(root: str, mounts: Iterable[str], peers: Iterable[str], top: str = "", cluster: str = "") -> Command:
    """Return the command that reads the machine's facts, except those of the NVIDIA driver (see `query_cards`).

    `read_machine` parses the output of both commands. `root` is the folder where the engine stores images. `mounts` are
    paths whose disks are measured. `peers` are host names for the host to resolve. `top` is a prefix for /sys and
    /proc, which only tests use. `cluster` is the cluster's name: the command checks whether the user may write to
    ~/.hvdocker/CLUSTER."""
    sources = list(dict.fromkeys(mounts))
    return shell(_SCRIPT, top, root, cluster, str(len(sources)), *sources, *dict.fromkeys(peers))


def query_cards() -> Command:
    """Return the command that asks nvidia-smi for the GPUs and their processes.

    It prints `key value` lines for `read_machine`, or nothing if the host has no nvidia-smi."""
    return shell(_CARDS_SCRIPT, str(NVIDIA_SMI_TIMEOUT_S), HUNG_ERROR)


def check_hashes(folder: str) -> Command:
    """Return a command that verifies files in `folder` against `HASH PATH` lines from standard input.

    It prints one line for each file, in the same order: `PATH: OK` if the hash is right."""
    return shell('cd -- "$1" && sha256sum -c - 2>/dev/null; true', folder)
