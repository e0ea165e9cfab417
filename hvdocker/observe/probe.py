"""The probe: one script per host that collects, in one round trip, what the engine's API does not know.

Pure; the script only reads. Its output is `key value` lines. Lines with an unknown key are ignored, and a missing
line means a default value. The script starts as few processes as possible, because every verb runs it on every host.
About GPUs it only says whether nvidia-smi is installed (see gpu_query.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hvdocker.shell.command import Command, shell

# Prints the listening TCP ports: `ss` asks the kernel for these alone. Without `ss` the kernel walks all connections,
# which takes several times as long, and the ports are hexadecimal.
_LISTENERS = r"""
    set -f; some=
    for word in $(ss -tn state listening 2>/dev/null); do
        case $word in *:*) word=${word##*:};; *) continue;; esac
        case $word in ''|*[!0-9]*) ;; *) some=1; echo "port $word";; esac
    done
    set +f
    [ -n "$some" ] || sed -n 's/^ *[0-9]*: [0-9A-F]*:\([0-9A-F]*\) [0-9A-F]*:[0-9A-F]* 0A .*/listens \1/p' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null
"""
_SCRIPT = (
    r"""
dir=$1; host=$2; shift 2
id=$(id); me=${id%% *}; me=${me#*\(}; echo "user ${me%\)}"
case $id in *"(docker)"*) echo "dockergroup yes";; esac
id=${id#uid=}; echo "uid ${id%%[!0-9]*}"
id=${id#* gid=}; echo "gid ${id%%[!0-9]*}"
echo "groups $(id -G)"
if cd -P ~ 2>/dev/null; then home=$PWD; else home=$HOME; fi
echo "home $home"
echo "reached ${SSH_CONNECTION:-}"
boot=/proc/sys/kernel/random/boot_id; [ -r $boot ] && read -r boot < $boot && echo "boot $boot"
[ -r /proc/meminfo ] && read -r _ memory _ < /proc/meminfo && echo "memory $memory"
ok=
for s in "${DOCKER_HOST#unix://}" /var/run/docker.sock "${XDG_RUNTIME_DIR:-/nonexistent}/docker.sock"; do
    if [ -S "$s" ]; then
        if [ -r "$s" ] && [ -w "$s" ]; then ok=1; echo "socket ok $s"; break; else echo "socket denied $s"; fi
    fi
done
command -v docker >/dev/null 2>&1 && echo "cli yes"
if [ -z "$ok" ] && command -v sudo >/dev/null 2>&1; then
    if said=$(LC_ALL=C sudo -n true 2>&1); then echo "sudo yes"
    else echo "nosudo $(printf '%s\n' "$said" | tail -n 1)"; fi
fi
for tool in tar gzip sha256sum find xargs stat; do
    command -v $tool >/dev/null 2>&1 || echo "lacks $tool"
done
if command -v ip >/dev/null 2>&1; then
    family=
    for a in $(ip -o addr show 2>/dev/null); do
        case $family in inet|inet6) echo "address ${a%%/*}";; esac
        family=$a
    done
else
    for a in $(hostname -I 2>/dev/null); do echo "address $a"; done
fi
# The headline has seven words, the line of the file system its free space in the fourth.
free() { [ $# -lt 11 ] || { shift 10; echo "homefree $1"; }; }
free $(df -Pk "$home" 2>/dev/null)
command -v nvidia-smi >/dev/null 2>&1 && echo "smi yes"
nl='
'
for path in "$@"; do
    # A folder that may be entered but not listed is fine: ranks may know the names of its files.
    if [ ! -e "$path" ]; then word=missing
    elif [ -d "$path" ]; then [ -x "$path" ] && continue; word=unreadable
    else [ -r "$path" ] && continue; word=unreadable
    fi
    printf '%s\n' "$word ${path%%"$nl"*}"
done
# Clusters that an earlier version made have no folder per host.
old=${home%/}/.hvdocker/$dir; dir=$old/$host
[ ! -d "$dir/jobs" ] && [ -d "$old/jobs" ] && [ -d "$old/code" ] && dir=$old
if [ -d "$dir" ]; then echo "clusterdir $dir"; else
    # No worker of this cluster runs here, so the ports are needed.
    echo "ports yes"
"""
    + _LISTENERS
    + r"""
fi
[ -r "$dir/members" ] && read -r members < "$dir/members" && printf '%s\n' "members $members"
for job in "$dir"/jobs/*/; do
    # A rank may name a folder as it likes: a line of its own would be a word of ours.
    case $job in *"$nl"*) continue;; esac
    [ -d "$job" ] && { job=${job%/}; printf '%s\n' "job ${job##*/}"; }
done
echo "done"
"""
)


def probe(cluster: str, host: str, paths: Iterable[str]) -> Command:
    """Return the command of the probe. `read_probe` parses its output.

    The probe also reports which of `paths` do not exist on the host, and which the SSH user may not read. `cluster`
    and `host` are names: the probe looks for the folder of that host inside the folder of that cluster."""
    return shell(_SCRIPT, cluster, host, *paths)


@dataclass
class ProbeAnswer:
    """The `key value` lines of a script's output.

    `values` has the first value of each key. `lists` has all values of each key."""

    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def number(self, key: str, default: int) -> int:
        """Return the value of the key as a whole number, or the default if it is missing or is not a number."""
        text = self.values.get(key, "").strip()
        return int(text) if text.isdigit() else default

    def all(self, key: str) -> list[str]:
        """Return all values of a key that may occur on several lines. The list is empty if the key does not occur."""
        return self.lists.get(key, [])

    @property
    def is_complete(self) -> bool:
        """Whether the script ran to its end. The last line that a script prints is `done`."""
        return "done" in self.values


def read_probe(text: str) -> ProbeAnswer:
    """Parse `text`, the `key value` lines that the probe printed.

    Other scripts (for GPUs, doctor and gc) print lines of the same form, and are parsed with this function too."""
    answer = ProbeAnswer()
    for line in text.split("\n"):
        key, _, value = line.partition(" ")
        answer.values.setdefault(key, value)
        answer.lists.setdefault(key, []).append(value)
    return answer


def reached_address(answer: ProbeAnswer) -> str:
    """Return the host's address to which the controller connected, or an empty text if it is unknown.

    It is the third field of the variable SSH_CONNECTION on the host, which the probe prints."""
    fields = answer.values.get("reached", "").split()
    return fields[2].removeprefix("::ffff:") if len(fields) == 4 else ""


def listening_ports(answer: ProbeAnswer) -> frozenset[int]:
    """Return the TCP ports on which processes listen, from the output of the probe or of the command of `listeners`.

    The probe prints the ports only if the host has no folder of the cluster. Then it also prints the key `ports`."""
    hexadecimal = {int(port, 16) for port in answer.all("listens") if port}
    return frozenset(hexadecimal.union(int(port) for port in answer.all("port") if port.isdecimal()))


def listeners() -> Command:
    """Return a command that prints the listening TCP ports. `listening_ports` reads them from its output."""
    return shell(f'{_LISTENERS}echo "done"\n')


_PORT_HOLDER_SCRIPT = r"""
port=$(printf '%04X' "$1")
inodes=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ local _ state _ _ _ _ _ inode _; do
    [ "$state" = 0A ] && [ "${local##*:}" = "$port" ] && echo "$inode"
done)
look() {
    for inode in $inodes; do
        for fd in /proc/[0-9]*/fd/*; do
            if [ "$(readlink "$fd" 2>/dev/null)" = "socket:[$inode]" ]; then
                pid=${fd#/proc/}; pid=${pid%%/*}
                echo "pid $pid: $(tr '\0' ' ' < "/proc/$pid/cmdline")"
                return 0
            fi
        done
    done
    return 1
}
look
"""


def port_holder(port: int) -> Command:
    """Return a command that prints `pid N: command line` of the process that listens on the port.

    The command prints nothing if no process listens, or if the user may not see that process."""
    return shell(_PORT_HOLDER_SCRIPT, str(port))


def docker_arch(machine: str) -> str:
    """Return the name that images use for a CPU architecture, such as `amd64`.

    `machine` is the name that an engine reports, such as `x86_64` (as uname). A name that is not known here is returned
    unchanged."""
    known: Mapping[str, str] = {
        "x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x",
        "i686": "386", "i386": "386",
    }  # fmt: skip
    return known.get(machine, machine)
