"""The commands, scripts and files with which hosts pass an image on to each other. Pure.

A feed is a second, temporary sshd on a host, from which other hosts fetch layers. It runs as the SSH user, on
a free port of the address by which other hosts reach the host. Its host key, which the other hosts pin, and one
client key per host are made for this transfer and deleted after it. The only command that this sshd runs is
the script `serve`, which sends a layer by name, even while the layer is still arriving. A host needs sshd, ssh
and the docker CLI; if one of them is missing, the controller sends the image to that host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hvdocker.images.ship.resumable_parts import ImageLayer, Part
from hvdocker.shell.command import Command, command, shell

# A feed (temporary sshd) ends if no file in its folder changes for so long, even if the controller is gone.
IDLE_MINUTES = 10.0
_IDLE_TRIES = 300
# First word of a line that the load script prints if it did not get a layer; the exit status of the fetch follows.
_CUT_PREFIX = "cut"
# Exit status of ssh if it could not connect, or if the connection broke.
SSH_FAILED = 255
_STOP_TRIES = 150
# `serve` sends a layer in pieces; their sizes are in blocks of dd. Every piece starts a few processes, so while
# a layer is still arriving, `serve` waits until _LEAST_PIECE blocks are there.
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

# $1 is the folder. $2 is the minutes without a change in the folder after which the feed ends. $3 is the seconds
# between two checks for a change. $4 and the following are ports to try. sshd writes its pid file once it
# listens. If the SSH user is root, this sshd runs as root too, but only with the three capabilities that it
# needs if the host has setpriv.
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

# A feed folder of the SSH user is stale if no file in it changed for an hour and no load runs. The running load has
# to be checked because a host that feeds no other host writes no file while it loads a layer.
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

# The folder is removed again after a load has ended, which may have written a file while the folder was being removed.
_STOP = f"""\
for file in "$1"/*.pid; do [ ! -s "$file" ] || kill "$(cat "$file")"; done
loading=$(cat "$1/loading" 2>/dev/null) tries=0
rm -rf -- "$1"
while [ -n "$loading" ] && kill -0 "$loading" 2>/dev/null && [ "$tries" -lt {_STOP_TRIES} ]; do
    tries=$((tries + 1)); sleep 0.2 2>/dev/null || sleep 1
done
[ -z "$loading" ] || rm -rf -- "$1"
"""


@dataclass(frozen=True)
class Feed:
    """Where a feed is reached: the temporary sshd of a host, from which other hosts fetch layers.

    Other hosts log in as `user` at `address` and `port`. `number` is the host's number in the tree of the fan-out. The
    known_hosts file has the sshd's host key as `feed-NUMBER`."""

    number: int
    user: str
    address: str
    port: int


def feed_folder(token: str) -> str:
    """Return the folder that a fan-out uses on every host, for its keys, scripts and layers. `token` is a random text
    that identifies the fan-out.

    The folder is in /var/tmp because that is a local disk, even if the home folder is on a network."""
    return f"/var/tmp/hvdocker-feed-{token}"


def unpack_feed(folder: str) -> Command:
    """Return the command that sets up a host: it creates `folder`, the fan-out's folder for keys, scripts and layers,
    and unpacks the tar from standard input in it.

    The command first removes stale feed folders, which interrupted fan-outs left."""
    return shell(_UNPACK, folder)


def start_feed(folder: str, ports: Sequence[int], idle_minutes: float = IDLE_MINUTES) -> Command:
    """Return the command that starts the feed (the temporary sshd) on the first free port of `ports`, and prints that
    port. The command fails if no port is free. `folder` is the fan-out's folder on the host, for keys, scripts and
    layers.

    The sshd ends by itself if no file in the folder changes for `idle_minutes`; then the folder is removed."""
    return shell(_START, folder, f"{idle_minutes:g}", f"{idle_minutes * 6:g}", *map(str, ports))


def stop_feed(folder: str) -> Command:
    """Return the command that ends a host's part in the fan-out: it stops the feed (the temporary sshd) and the process
    that would end an idle feed, and removes `folder`, the fan-out's folder for keys, scripts and layers.

    Hosts that fetch from this host stop when the files are gone. The command waits for a running `docker load` to end,
    because only then is it known which parts of the image are on the engine. It waits at most 30 s, or 150 s if the
    host's `sleep` takes only whole seconds."""
    return shell(_STOP, folder)


def remove_layers(folder: str, layers: Sequence[ImageLayer]) -> Command:
    """Return the command that removes the files of these layers from `folder`, the fan-out's folder on the host. It is
    used when the host no longer takes part in the fan-out, in which hosts pass layers on to each other.

    The removal frees disk space. Processes that send these files on to other hosts read them while they grow, and end
    when the files are gone."""
    return command("rm", "-f", "--", *(f"{folder}/{layer.hex}" for layer in layers))


def store_layer(folder: str, layer: ImageLayer) -> Command:
    """Return the command that writes standard input to the layer's file in `folder`, the fan-out's folder on the host.
    The controller uses it for the first host of the tree, and for a host that passes layers on but could fetch from no
    other host."""
    return shell('exec cat > "$1/$2"', folder, layer.hex)


def fetch_layers(folder: str, feed: Feed, node_number: int) -> Command:
    """Return the command that fetches layers from a feed (another host's sshd) into files, one by one. It runs the
    script of `fetch_script`, which names the layers and must be the file `fetch` in `folder`, the fan-out's folder on
    the host.

    It runs on a host that passes the layers on. `node_number` is that host's number in the tree. The exit status is 0,
    or that of the first layer that could not be fetched."""
    return shell('exec sh "$1/fetch" "$2" "$3" "$4" "$5" "$6"', folder, *_route(feed, node_number))


def load_parts(folder: str, feed: Feed | None, node_number: int) -> Command:
    """Return the command that loads the parts of the image (archives for `docker load`) into the engine of the host on
    which it runs. It runs the script of `load_script`, which must be the file `load` in `folder`, the fan-out's folder
    on that host.

    `feed` is the sshd of the other host from which the layers are fetched. With None the layers are files in `folder`.
    `node_number` is the number that the loading host has in the fan-out; without a feed it is not used."""
    return shell('exec sh "$1/load" "$2" "$3" "$4" "$5" "$6"', folder, *(_route(feed, node_number) if feed else ()))


def missing_layer_status(said: str) -> int | None:
    """Return why a layer could not be fetched during a load: the exit status of its fetch, such as SSH_FAILED. Return
    None if all layers arrived.

    `said` is the standard output of the command that `load_parts` returns."""
    found = [line.partition(" ")[2] for line in said.splitlines() if line.startswith(f"{_CUT_PREFIX} ")]
    return int(found[-1]) if found else None


def read_progress(folder: str, node_number: int) -> Command:
    """Return the command that prints the hex digest of the layer that a feed is sending to the host number
    `node_number`, and the number of bytes sent of it.

    It has to run on the feeding host. `folder` is the fan-out's folder there. It fails if that host has sent nothing to
    `node_number` yet."""
    return command("cat", f"{folder}/sent-{node_number}")


def _route(feed: Feed, node_number: int) -> tuple[str, ...]:
    return (f"feed-{feed.number}", feed.user, feed.address, str(feed.port), str(node_number))


def sshd_config(folder: str, address: str, user: str) -> str:
    return _SSHD.format(folder=folder, address=address, user=user)


def authorized_keys(publics: Sequence[str]) -> str:
    return "".join(f"restrict {public}\n" for public in publics)


def known_hosts(publics: Mapping[int, str]) -> str:
    return "".join(f"feed-{number} {public}\n" for number, public in publics.items())


# `read` takes a byte at a time from a pipe, so `after_mark` leaves every byte behind the mark to `cat`. A pipeline
# has the exit status of its last command, so the exit status of ssh is passed through descriptor 6.
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
    """Return the script with which a host fetches layers from a feed (another host's sshd); the command of
    `fetch_layers` runs it. `layers` are the layers to fetch, in this order. It stops at the first layer that fails,
    with the exit status of its fetch."""
    lines = [f"layer {layer.hex} {layer.size} > {layer.hex} || exit $?" for layer in layers]
    return "\n".join([_LAYER_FUNCTION, *lines, ""])


def load_script(parts: Sequence[Part], docker: str) -> tuple[str, dict[str, bytes]]:
    """Return the script that loads the image into a host's engine, and the content of the files that it needs, by name.
    The command of `load_parts` runs it.

    Each part is a tar archive for `docker load`. The files contain the bytes of the archives around the layers. If the
    script runs again with another feed (another host's sshd), it does not load finished parts again. Its standard
    error has only messages of the docker CLI; they are not written to a file, because the disk may be full. `docker`
    is the command line of the docker CLI, such as `docker -H unix:///var/run/docker.sock`."""
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
