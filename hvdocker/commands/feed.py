"""Words and files with which hosts pass an image on to each other.

A host that feeds others runs a second, short-lived sshd of its own as the SSH user, on a free port, with a
host key and client keys made for this one transfer. All it does is hand out layers (`serve`), also while
they are still arriving. Needs on a host: sshd, ssh and the docker CLI; without them this machine sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hvdocker.commands.command import Command, command, shell
from hvdocker.commands.image_parts import Layer, Part

# Whatever happens to this machine, a feed in which nothing moves for so long ends by itself.
_IDLE_MINUTES = 10
_IDLE_TRIES = 300
_PIECE = 64 << 20
# Every piece costs four processes: whoever is as fast as what arrives waits until there is enough of it.
_LEAST_PIECE = 8 << 20

SERVE = f"""\
# Hands out a layer, also one that is still growing: NAME SIZE [WHO].
LC_ALL=C; export LC_ALL
cd -- "${{0%/*}}" || exit 1
[ "$1" = here ] && shift || {{ set -f; set -- $SSH_ORIGINAL_COMMAND; }}
case $1$2$3 in ''|*[!0-9a-f]*) exit 2 ;; esac
sent=0 idle=0 had=
while [ "$sent" -lt "$2" ]; do
    have=$(wc -c < "$1") || exit 1
    piece=$((have - sent))
    if [ "$piece" -ge {_LEAST_PIECE} ] || [ "$have" -ge "$2" ]; then
        [ "$piece" -le {_PIECE} ] || piece={_PIECE}
        tail -c +$((sent + 1)) "$1" | head -c "$piece" || exit 1
        sent=$((sent + piece)) idle=0
        [ -z "$3" ] || echo "$1 $sent" > "sent-$3"
    else
        [ "$have" = "$had" ] && idle=$((idle + 1)) || idle=0
        [ "$idle" -lt {_IDLE_TRIES} ] || exit 1
        had=$have
        sleep 0.2 2>/dev/null || sleep 1
    fi
done
"""

_SSHD = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/sshd.pid
ListenAddress {address}
AllowUsers {user}
ForceCommand /bin/sh {folder}/serve
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
DisableForwarding yes
PermitTTY no
PermitUserRC no
LoginGraceTime 20
MaxStartups 100
"""

# $1 the folder, $2… ports to try. sshd writes its pid once it listens.
_START = f"""\
cd -- "$1" || exit 1; folder=$1; shift
sshd=$(command -v sshd) || for sshd in /usr/sbin/sshd /usr/local/sbin/sshd; do [ -x "$sshd" ] && break; done
if [ "$(id -u)" = 0 ] && setpriv --version >/dev/null 2>&1; then
    bound='setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid,+sys_chroot'
fi
for port; do
    ${{bound-}} "$sshd" -D -e -f "$folder/config" -p "$port" >sshd.log 2>&1 </dev/null &
    pid=$! tries=0
    while [ ! -s sshd.pid ] && kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 50 ]; do
        tries=$((tries + 1)); sleep 0.1 2>/dev/null || sleep 1
    done
    if [ -s sshd.pid ]; then
        (
            while sleep 60 && kill -0 "$pid"; do
                [ -n "$(find "$folder" -mmin -{_IDLE_MINUTES})" ] || kill "$pid"
            done
            rm -rf -- "$folder"
        ) >/dev/null 2>&1 </dev/null &
        echo "$!" > watch.pid; echo "$port"; exit 0
    fi
    kill "$pid" 2>/dev/null
done
cat sshd.log >&2; exit 1
"""

_CAN = """\
command -v docker >/dev/null && echo cli
command -v ssh >/dev/null && echo ssh
for sshd in $(command -v sshd) /usr/sbin/sshd /usr/local/sbin/sshd; do
    [ -x "$sshd" ] && { echo sshd; break; }
done
echo "user $(id -un)"
set -- "$1" $SSH_CONNECTION; echo "address $4"
found=$(ip -o addr show scope global 2>/dev/null | while read -r _ _ _ one _; do echo "${one%/*}"; done)
echo addresses $found
echo "disk $(df -Pk "$1" 2>/dev/null | tail -n 1)"
echo "room $(df -Pk /var/tmp 2>/dev/null | tail -n 1)"
"""


@dataclass(frozen=True)
class Ability:
    """What a host can do about feeding, and its room in bytes for the engine and for passing on."""

    has_tools: bool = False
    user: str = ""
    address: str = ""
    addresses: tuple[str, ...] = ()
    disk_bytes: int | None = None
    room_bytes: int = 0


@dataclass(frozen=True)
class Feed:
    """Where a host that feeds listens; its key is known by the name `feed-N`."""

    number: int
    user: str
    address: str
    port: int


def ability(engine_root: str) -> Command:
    return shell(_CAN, engine_root)


def read_ability(text: str) -> Ability:
    words = dict(line.partition(" ")[::2] for line in text.splitlines())
    return Ability(
        has_tools={"cli", "ssh", "sshd"} <= words.keys(),
        user=words.get("user", ""),
        address=words.get("address", ""),
        addresses=tuple(words.get("addresses", "").split()),
        disk_bytes=_free(words.get("disk", "")),
        room_bytes=_free(words.get("room", "")) or 0,
    )


def _free(df: str) -> int | None:
    fields = df.split()
    return int(fields[3]) * 1024 if len(fields) > 4 and fields[3].isdigit() else None


def folder_of(token: str) -> str:
    """On a disk of the host's own, wherever its home is."""
    return f"/var/tmp/hvdocker-feed-{token}"


def unpack(folder: str) -> Command:
    """Takes away what a run that was cut off left here long ago."""
    stale = 'find /var/tmp -maxdepth 1 -name "hvdocker-feed-*" -user "$(id -un)" -mmin +60 -exec rm -rf {} + '
    return shell(f'{stale} 2>/dev/null; umask 077; mkdir -- "$1" && exec tar -xf - -C "$1"', folder)


def start(folder: str, ports: Sequence[int]) -> Command:
    return shell(_START, folder, *map(str, ports))


def stop(folder: str) -> Command:
    """Ends the feed and its watcher; what still reads from it ends as well when its files are gone."""
    script = 'for file in "$1"/*.pid; do [ ! -s "$file" ] || kill "$(cat "$file")"; done; rm -rf -- "$1"'
    return shell(script, folder)


def store(folder: str, layer: Layer) -> Command:
    return shell('exec cat > "$1/$2"', folder, layer.hex)


def fetch(folder: str, feed: Feed, who: int) -> Command:
    """The layers that this host passes on, one after the other, into files of its own."""
    return shell('exec sh "$1/fetch" "$2" "$3" "$4" "$5" "$6"', folder, *_route(feed, who))


def load(folder: str, feed: Feed | None, who: int) -> Command:
    """Parts into the engine: from files of its own, or straight from the host that feeds it."""
    return shell('exec sh "$1/load" "$2" "$3" "$4" "$5" "$6"', folder, *(_route(feed, who) if feed else ()))


def was_cut(folder: str) -> Command:
    """Whether the last load ended for want of layers, and not for a reason of the engine's."""
    return command("test", "-e", f"{folder}/broken")


def progress(folder: str, who: int) -> Command:
    return command("cat", f"{folder}/sent-{who}")


def _route(feed: Feed, who: int) -> tuple[str, ...]:
    return (f"feed-{feed.number}", feed.user, feed.address, str(feed.port), str(who))


def sshd_config(folder: str, address: str, user: str) -> str:
    return _SSHD.format(folder=folder, address=address, user=user)


def authorized_keys(publics: Sequence[str]) -> str:
    return "".join(f"restrict {public}\n" for public in publics)


def known_hosts(publics: Mapping[int, str]) -> str:
    return "".join(f"feed-{number} {public}\n" for number, public in publics.items())


_LAYER = """\
LC_ALL=C; export LC_ALL
cd -- "${0%/*}" || exit 1
layer() {
    if [ -z "$feed" ]; then sh ./serve here "$1" "$2"; return; fi
    ssh -F /dev/null -c aes128-gcm@openssh.com,aes128-ctr -i key -p "$port" \\
        -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o LogLevel=ERROR -o Compression=no \\
        -o StrictHostKeyChecking=yes -o HostKeyAlias="$feed" -o UserKnownHostsFile="$PWD/known_hosts" \\
        -o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=5 -o ConnectionAttempts=3 \\
        -o ServerAliveInterval=5 -o ServerAliveCountMax=3 "$user@$address" "$1 $2 $who" </dev/null
}
feed=$1 user=$2 address=$3 port=$4 who=$5
"""


def fetch_script(layers: Sequence[Layer]) -> str:
    lines = [f"layer {layer.hex} {layer.size} > {layer.hex} || exit 1" for layer in layers]
    return "\n".join([_LAYER, *lines, ""])


def load_script(parts: Sequence[Part], docker: str) -> tuple[str, dict[str, bytes]]:
    """The script, and the archives' own bytes between the layers as files of their own. A part that was
    loaded is not loaded again when the script is run once more with another feed."""
    lines = [_LAYER, "rm -f broken"]
    literals: dict[str, bytes] = {}
    for number, part in enumerate(parts):
        words = []
        for place, segment in enumerate(part.segments()):
            if isinstance(segment, Layer):
                words.append(f"layer {segment.hex} {segment.size}")
            else:
                literals[f"part-{number}-{place}"] = segment
                words.append(f"cat part-{number}-{place}")
        chain = " && ".join(words)
        lines.append(
            f"[ -e done-{number} ] || {{ {{ {chain} || echo fetch > broken; }} | "
            f"{docker} load -q >load.log 2>&1 && : > done-{number}; }} || {{ cat load.log >&2; exit 1; }}"
        )
    return "\n".join([*lines, ""]), literals
