"""One script per host that says in one round trip what the engine's API cannot say.

It only reads. Its output is `key value` lines; unknown lines are ignored, missing ones have defaults. It
starts as few processes as it can: every verb runs it on every host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hvdocker.shell.command import Command, shell

_SCRIPT = r"""
dir=$1; host=$2; root=$3; shift 3
id=$(id); id=${id#uid=}; echo "uid ${id%%[!0-9]*}"
id=${id#* gid=}; echo "gid ${id%%[!0-9]*}"
if cd -P ~ 2>/dev/null; then home=$PWD; else home=$HOME; fi
echo "home $home"
echo "reached ${SSH_CONNECTION:-}"
[ -r /proc/meminfo ] && read -r _ memory _ < /proc/meminfo && echo "memory $memory"
ok=
for s in "${DOCKER_HOST#unix://}" /var/run/docker.sock "${XDG_RUNTIME_DIR:-/nonexistent}/docker.sock"; do
    if [ -S "$s" ]; then
        if [ -r "$s" ] && [ -w "$s" ]; then ok=1; echo "socket ok $s"; break; else echo "socket denied $s"; fi
    fi
done
command -v docker >/dev/null 2>&1 && echo "cli yes"
if [ -z "$ok" ] && command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then echo "sudo yes"; fi
for tool in tar gzip sha256sum find xargs stat; do
    command -v $tool >/dev/null 2>&1 || echo "lacks $tool"
done
if command -v ip >/dev/null 2>&1; then
    ip -o addr show 2>/dev/null | while read -r _ _ _ a _; do echo "address ${a%%/*}"; done
else
    for a in $(hostname -I 2>/dev/null); do echo "address $a"; done
fi
[ -d "$root/docker" ] && root=$root/docker
df -Pk "$root" "$home" 2>/dev/null | {
    read -r _; read -r _ _ _ left _ && echo "free $left"
    read -r device _ _ left _ && echo "homefs $device" && echo "homefree $left"
}
command -v nvidia-smi >/dev/null 2>&1 && echo "smi yes"
nl='
'
for path in "$@"; do [ -e "$path" ] || printf '%s\n' "missing ${path%%"$nl"*}"; done
dir=$home/.hvdocker/$dir
[ -d "$dir/$host/jobs" ] && dir=$dir/$host
[ -d "$dir" ] && echo "clusterdir $dir"
[ -r "$dir/members" ] && read -r members < "$dir/members" && printf '%s\n' "members $members"
for job in "$dir"/jobs/*/; do
    # A rank may name a folder as it likes: a line of its own would be a word of ours.
    case $job in *"$nl"*) continue;; esac
    [ -d "$job" ] && { job=${job%/}; printf '%s\n' "job ${job##*/}"; }
done
echo "done"
"""


def probe(cluster: str, host: str, paths: Iterable[str]) -> Command:
    """`paths` are looked for and reported when missing. Where homes are shared, a host's folder lies one
    level deeper, under its name."""
    return shell(_SCRIPT, cluster, host, "/var/lib", *paths)


@dataclass
class ProbeAnswer:
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def number(self, key: str, default: int) -> int:
        text = self.values.get(key, "").strip()
        return int(text) if text.isdigit() else default

    def all(self, key: str) -> list[str]:
        return self.lists.get(key, [])

    @property
    def is_whole(self) -> bool:
        return "done" in self.values


def read_probe(text: str) -> ProbeAnswer:
    answer = ProbeAnswer()
    for line in text.split("\n"):
        key, _, value = line.partition(" ")
        answer.values.setdefault(key, value)
        answer.lists.setdefault(key, []).append(value)
    return answer


def reached_address(answer: ProbeAnswer) -> str:
    """The host's own end of our connection: the third field of SSH_CONNECTION."""
    fields = answer.values.get("reached", "").split()
    return fields[2].removeprefix("::ffff:") if len(fields) == 4 else ""


def listening_ports(answer: ProbeAnswer) -> frozenset[int]:
    return frozenset(int(port, 16) for port in answer.all("listens") if port)


# The kernel walks all its connections for this table: it is asked for only where the answer matters.
_LISTENERS = r"""
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ local _ state _; do
    [ "$state" = 0A ] && echo "listens ${local##*:}"
done
echo "done"
"""


def listeners() -> Command:
    return shell(_LISTENERS)


_HOLDER = r"""
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
    """Prints `pid N: its command line` where this user may see it, else nothing."""
    return shell(_HOLDER, str(port))


def docker_arch(machine: str) -> str:
    """The engine speaks uname's words, images speak Go's."""
    known: Mapping[str, str] = {
        "x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x",
        "i686": "386", "i386": "386",
    }  # fmt: skip
    return known.get(machine, machine)
