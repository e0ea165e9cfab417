"""The commands, scripts and files with which hosts pass an image on to each other. Pure.

A host that feeds others runs a second, temporary sshd as the SSH user, on a free port of its training
address. The host key, which the other hosts pin, and one client key per host are made for this transfer and
deleted with it. The only command that this sshd runs is `serve`, which sends layers by name, also while they
are still arriving. A host needs sshd, ssh and the docker CLI; where they are missing, the controller
sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hvdocker.images.ship.resumable_parts import ImageLayer, Part
from hvdocker.shell.command import Command, command, shell

# A feed in which no file changes for so long ends, whatever happens to the controller.
IDLE_MINUTES = 10.0
_IDLE_TRIES = 300
# Printed by a host whose load did not get all layers, followed by the exit status of the failed layer.
_CUT_PREFIX = "cut"
# Exit status of ssh where it could not connect.
SSH_FAILED = 255
_STOP_TRIES = 150
# Pieces are counted in blocks, as dd counts. Every piece starts a few processes, so a reader that keeps up
# with the arriving file waits until there are enough blocks.
_BLOCK = 1 << 20
_PIECE = 64
_LEAST_PIECE = 8

# The line before a layer. sshd runs even a forced command through the user's login shell, whose start-up
# files may print something first.
_LAYER_MARK = "hvdocker-layer"

SERVE = f"""\
# Hands out a layer, also one that is still growing: NAME SIZE [WHO].
LC_ALL=C; export LC_ALL
cd -- "${{0%/*}}" || exit 1
mark=; [ "$1" = here ] && shift || {{ set -f; set -- $SSH_ORIGINAL_COMMAND; mark={_LAYER_MARK}; }}
case $1$2$3 in ''|*[!0-9a-f]*) exit 2 ;; esac
[ -z "$mark" ] || printf '\\n%s\\n' "$mark"
sent=0 idle=0 had= blocks=$((($2 + {_BLOCK} - 1) / {_BLOCK}))
while [ "$sent" -lt "$blocks" ]; do
    have=$(wc -c < "$1") || exit 1
    piece=$((have / {_BLOCK} - sent))
    [ "$have" -lt "$2" ] || piece=$((blocks - sent))
    if [ "$piece" -ge {_LEAST_PIECE} ] || [ "$have" -ge "$2" ]; then
        [ "$piece" -le {_PIECE} ] || piece={_PIECE}
        dd if="$1" bs={_BLOCK} skip="$sent" count="$piece" 2>/dev/null || exit 1
        sent=$((sent + piece)) idle=0
        [ -z "$3" ] || echo "$1 $((sent < blocks ? sent * {_BLOCK} : $2))" > "sent-$3"
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

# $1 the folder, $2 the minutes without a change after which the feed ends, $3 the seconds between two checks
# of that, $4… ports to try. sshd writes its pid file once it listens. Where the SSH user is root, so is this
# sshd; it then has only the three capabilities that it needs, if the host has setpriv.
_START = """\
cd -- "$1" || exit 1; folder=$1 minutes=$2 look=$3; shift 3
sshd=$(command -v sshd) || for sshd in /usr/sbin/sshd /usr/local/sbin/sshd; do [ -x "$sshd" ] && break; done
if [ "$(id -u)" = 0 ] && setpriv --version >/dev/null 2>&1; then
    bound='setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid,+sys_chroot'
fi
for port; do
    ${bound-} "$sshd" -D -e -f "$folder/config" -p "$port" >sshd.log 2>&1 </dev/null &
    pid=$! tries=0
    while [ ! -s sshd.pid ] && kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 50 ]; do
        tries=$((tries + 1)); sleep 0.1 2>/dev/null || sleep 1
    done
    if [ -s sshd.pid ]; then
        (
            while sleep "$look" && kill -0 "$pid"; do
                [ -n "$(find "$folder" -mmin "-$minutes")" ] || kill "$pid"
            done
            rm -rf -- "$folder"
        ) >/dev/null 2>&1 </dev/null &
        echo "$!" > watch.pid; echo "$port"; exit 0
    fi
    kill "$pid" 2>/dev/null
done
cat sshd.log >&2; exit 1
"""

# A folder is stale when no file in it changed for an hour and no load runs: a host that only receives writes
# no file for as long as a layer takes.
STALE_FEEDS = """\
stale_feeds() {
    for old in "$1"/hvdocker-feed-*; do
        [ -O "$old" ] && [ -z "$(find "$old" -mmin -60 2>/dev/null)" ] || continue
        kill -0 "$(cat "$old/loading" 2>/dev/null)" 2>/dev/null || printf '%s\\n' "$old"
    done
}
"""

_UNPACK = f"""\
{STALE_FEEDS}
stale_feeds "${{1%/*}}" | while read -r old; do rm -rf -- "$old"; done
umask 077; mkdir -- "$1" && exec tar -xf - -C "$1"
"""

_STOP = f"""\
for file in "$1"/*.pid; do [ ! -s "$file" ] || kill "$(cat "$file")"; done
loading=$(cat "$1/loading" 2>/dev/null) tries=0
rm -rf -- "$1"
while [ -n "$loading" ] && kill -0 "$loading" 2>/dev/null && [ "$tries" -lt {_STOP_TRIES} ]; do
    tries=$((tries + 1)); sleep 0.2 2>/dev/null || sleep 1
done
"""


@dataclass(frozen=True)
class Feed:
    """Where the sshd of a feeding host listens. Its host key has the name `feed-N` in known_hosts."""

    number: int
    user: str
    address: str
    port: int


def feed_folder(token: str) -> str:
    """Return the folder of a transfer: in /var/tmp, a local disk even where the home folder is not."""
    return f"/var/tmp/hvdocker-feed-{token}"


def unpack_feed(folder: str) -> Command:
    """Remove stale folders of interrupted runs, then make the folder and unpack standard input in it."""
    return shell(_UNPACK, folder)


def start_feed(folder: str, ports: Sequence[int], idle_minutes: float = IDLE_MINUTES) -> Command:
    """Start the sshd on the first free port of `ports` and print that port."""
    return shell(_START, folder, f"{idle_minutes:g}", f"{idle_minutes * 6:g}", *map(str, ports))


def stop_feed(folder: str) -> Command:
    """Stop the sshd and its watcher, and remove the folder; readers end when the files are gone.

    Waits for a running load, because only then is it known which parts are on the engine: at most 30 s, or
    150 s where sleep takes only whole seconds."""
    return shell(_STOP, folder)


def remove_layers(folder: str, layers: Sequence[ImageLayer]) -> Command:
    """Remove the files of these layers, to free the disk and to end processes that wait for them."""
    return command("rm", "-f", "--", *(f"{folder}/{layer.hex}" for layer in layers))


def store_layer(folder: str, layer: ImageLayer) -> Command:
    """Write standard input to the file of the layer."""
    return shell('exec cat > "$1/$2"', folder, layer.hex)


def fetch_layers(folder: str, feed: Feed, who: int) -> Command:
    """Fetch the layers that this host passes on from a feed, one by one. `who` is this host's number."""
    return shell('exec sh "$1/fetch" "$2" "$3" "$4" "$5" "$6"', folder, *_route(feed, who))


def load_parts(folder: str, feed: Feed | None, who: int) -> Command:
    """Load the parts into the engine: from a feed, or with None from the host's own files."""
    return shell('exec sh "$1/load" "$2" "$3" "$4" "$5" "$6"', folder, *(_route(feed, who) if feed else ()))


def missing_layer_status(said: str) -> int | None:
    """Return the exit status of the layer that cut this load off; None where it got all layers."""
    found = [line.partition(" ")[2] for line in said.splitlines() if line.startswith(f"{_CUT_PREFIX} ")]
    return int(found[-1]) if found else None


def read_progress(folder: str, who: int) -> Command:
    """Print which layer the feed sends to host `who`, and how many bytes of it were sent."""
    return command("cat", f"{folder}/sent-{who}")


def _route(feed: Feed, who: int) -> tuple[str, ...]:
    return (f"feed-{feed.number}", feed.user, feed.address, str(feed.port), str(who))


def sshd_config(folder: str, address: str, user: str) -> str:
    return _SSHD.format(folder=folder, address=address, user=user)


def authorized_keys(publics: Sequence[str]) -> str:
    return "".join(f"restrict {public}\n" for public in publics)


def known_hosts(publics: Mapping[int, str]) -> str:
    return "".join(f"feed-{number} {public}\n" for number, public in publics.items())


# `read` takes a byte at a time from a pipe, so `after_mark` leaves every byte behind the mark to `cat`. A pipe has
# the exit status of its last command: that of ssh takes the way over descriptor 6.
_LAYER_FUNCTION = f"""\
LC_ALL=C; export LC_ALL
cd -- "${{0%/*}}" || exit 1
after_mark() {{ while IFS= read -r line; do [ "$line" != {_LAYER_MARK} ] || break; done; cat; }}
layer() {{
    if [ -z "$feed" ]; then sh ./serve here "$1" "$2"; return; fi
    {{ code=$({{ {{ from_feed "$@"; echo $? >&6; }} | after_mark >&5; }} 6>&1); }} 5>&1
    return "$code"
}}
from_feed() {{
    ssh -F /dev/null -c aes128-gcm@openssh.com,aes128-ctr -i key -p "$port" \\
        -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o LogLevel=ERROR -o Compression=no \\
        -o StrictHostKeyChecking=yes -o HostKeyAlias="$feed" -o UserKnownHostsFile="$PWD/known_hosts" \\
        -o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=5 -o ConnectionAttempts=1 \\
        -o ServerAliveInterval=5 -o ServerAliveCountMax=3 "$user@$address" "$1 $2 $who" </dev/null
}}
feed=$1 user=$2 address=$3 port=$4 who=$5
"""


def fetch_script(layers: Sequence[ImageLayer]) -> str:
    """Return the script that `fetch_layers` runs; it exits with the status of the first layer that fails."""
    lines = [f"layer {layer.hex} {layer.size} > {layer.hex} || exit $?" for layer in layers]
    return "\n".join([_LAYER_FUNCTION, *lines, ""])


def load_script(parts: Sequence[Part], docker: str) -> tuple[str, dict[str, bytes]]:
    """Return the script that loads the parts, and the files with the archives' bytes between the layers.

    A finished part is not loaded again when the script runs once more with another feed. Standard error has
    only the engine's messages. They are not written to a file, because the disk may be full."""
    lines = [_LAYER_FUNCTION, "echo $$ > loading; trap 'rm -f loading' EXIT"]
    literals: dict[str, bytes] = {}
    for number, part in enumerate(parts):
        words = []
        for place, segment in enumerate(part.segments()):
            if isinstance(segment, ImageLayer):
                words.append(f"layer {segment.hex} {segment.size}")
            else:
                literals[f"part-{number}-{place}"] = segment
                words.append(f"cat part-{number}-{place}")
        archive = f"{{ {' && '.join(words)} || echo {_CUT_PREFIX} $? >&3; }} 2>/dev/null"
        lines.append(
            f"[ -e done-{number} ] || {{ {{ {archive} | {docker} load -q >&2; }} 3>&1 && "
            f": > done-{number}; }} || exit 1"
        )
    return "\n".join([*lines, ""]), literals
