"""Shell scripts that create, renew, list and remove tickets on a host, and the parser of their answers. Pure.

A ticket is a file in `/tmp/hvdocker.queue`. All users can write to this folder, as to the lock folder. The file's name
is an increasing number, at least the host's time in seconds, so that the number of a dead ticket is not used again. A
client first writes the complete file under another name, and then creates a hard link with the number as its name. Such
a link can be created only once, so no two tickets have the same number. The modification time of the file says when the
ticket was last renewed.

A ticket that was not renewed for DEAD_S seconds is dead. A client that lists tickets removes dead ones, unless it may
change nothing on the host (as in a dry run). If a dead ticket is renewed at that very moment, it may be removed
nevertheless. Its client then creates another ticket.

The scripts return the content of a ticket as one line and interpret only its token. A living ticket is renewed or
removed only by a client that knows the token."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.locks.ticket import DEAD_S, QUEUE_DIR, Ticket, TicketText, read_ticket
from hvdocker.locks.tmp_folder import ENTER_FUNCTION
from hvdocker.shell.command import Command, shell

_COMMON = (
    r"""
dir=$1; stale=$2; number=; shown=; disk=; parent=$(cd -P -- "${dir%/*}" && pwd -P) || exit 1
now=$(date +%s)
tell() {
    # What somebody else wrote comes last: it cannot pass for a line of ours.
    echo "state $1"; echo "now $now"; echo "reached ${SSH_CONNECTION:-}"
    [ -r /etc/machine-id ] && read -r id < /etc/machine-id && echo "machine $id"
    [ -n "$number" ] && echo "number $number"
    [ -n "$2" ] && echo "reason $2"
    [ -n "$disk" ] && echo "disk $disk"
    echo "done"
    [ -n "$shown" ] && printf '%s\n' "$shown"
    exit 0
}
refused() {
    disk=$(df -P -- "$parent" 2>/dev/null | tail -n 1)
    cd -- "$parent" && rmdir -- "$dir" 2>/dev/null
    tell unwritable "${1:-nothing can be written there}"
}
is_file() { [ ! -L "$1" ] && [ -f "$1" ]; }
is_number() { case $1 in ''|0*|*[!0-9]*) return 1;; esac; [ "${#1}" -le 15 ]; }
content() { line=$(dd if="./$1" bs=8192 count=1 2>/dev/null | tr -d '\000\n'); }
is_of() {
    is_number "$1" && is_file "$1" || return 1
    content "$1"; found=${line#*'"token": "'}; [ "${found%%'"'*}" = "$2" ]
}
aged() {
    beat=$(stat -c %Y -- "$1" 2>/dev/null || stat -f %m -- "$1" 2>/dev/null)
    case $beat in ''|*[!0-9]*) return 1;; esac
    age=$((now - beat))
    # Also what comes from a future that the host's clock has left.
    dead=; if [ "$age" -gt "$stale" ] || [ "$age" -lt "-$stale" ]; then dead=1; fi
}
list() {
    clears=$1; count=0
    for name in [1-9]* .try.*; do
        is_file "$name" && aged "$name" || continue
        if [ -n "$dead" ]; then [ -z "$clears" ] || rm -f -- "$name"; continue; fi
        is_number "$name" || continue
        count=$((count + 1)); [ $count -le 200 ] || break
        content "$name"
        shown="$shown${shown:+
}ticket $name $age $line"
    done
    [ -z "$clears" ] || [ -n "$shown" ] || { cd -- "$parent" && rmdir -- "$dir" 2>/dev/null; }
}
"""
    + ENTER_FUNCTION
)

_JOIN = r"""
token=$3; rest=$4; mine=.try.$3.$$; tries=0; why=
drop() { rm -f -- "$mine"; }
while [ $tries -lt 9 ]; do
    tries=$((tries + 1))
    why=$( (umask 0 && mkdir -m 777 -- "$dir") 2>&1 )
    enter || continue
    if [ ! -w . ]; then
        [ -w "$parent" ] || refused "$parent is not writable"
        tell unusable "you may not write there: $(ls -ld -- "$dir" 2>/dev/null)"
    fi
    why=$( { umask 022; set -C
        printf '{"token": "%s", "since": %s, %s\n' "$token" "$now" "$rest" > "$mine"; } 2>&1 ) \
        && [ -s "$mine" ] || { drop; continue; }
    last=$((now - 1))
    for name in [1-9]*; do is_number "$name" && [ "$name" -gt "$last" ] && last=$name; done
    links=0
    while [ $links -lt 50 ]; do
        links=$((links + 1)); number=$((last + links))
        if why=$(ln -n -- "$mine" "$number" 2>&1); then drop; list 1; tell present; fi
        [ -e "$number" ] || [ -L "$number" ] || break
    done
    number=; drop
done
refused "$why"
"""

_RENEW = r"""
enter || tell gone
if ! is_of "$4" "$3"; then list 1; tell gone; fi
why=$(touch -c -- "$4" 2>&1) || refused "$why"
list 1
tell present
"""

_LEAVE = r"""
enter || tell gone
if is_of "$4" "$3"; then rm -f -- "$4"; fi
cd -- "$parent" && rmdir -- "$dir" 2>/dev/null
tell gone
"""

_LIST = r"""
enter && list "$3"
tell seen
"""


@dataclass(frozen=True)
class TicketAnswer:
    """The answer of a host about its tickets.

    `state` is present (the client's own ticket is there), gone (it is not), seen (the tickets were only listed),
    unusable or unwritable. `tickets` are the living tickets, by number. `number` is the number of a ticket that was
    just created. `reason` says why the queue folder is unusable or unwritable. `disk` is the line of `df` for the
    folder if it is unwritable. `sort_key` is (machine-id, address and port of sshd). Every client sorts hosts by this
    key."""

    state: str
    tickets: tuple[Ticket, ...] = ()
    number: int = 0
    reason: str = ""
    disk: str = ""
    sort_key: tuple[str, str] = ("", "")


def join_queue(text: TicketText, folder: str = QUEUE_DIR, dead_s: int = DEAD_S) -> Command:
    """Return a command that creates a ticket with the next number and lists all living tickets.

    `text` is the content of the ticket. `folder` is the queue folder on the host; only tests pass another one. The
    command also removes tickets that were not renewed for `dead_s` seconds. `read_tickets` parses its output. The state
    of the answer is present, unusable if this user may not use the folder, or unwritable if its disk is full or
    read-only."""
    return shell(_COMMON + _JOIN, folder, str(dead_s), text.token, text.as_json().removeprefix("{"))


def renew_ticket(token: str, number: int, folder: str = QUEUE_DIR, dead_s: int = DEAD_S) -> Command:
    """Return a command that renews the ticket `number` if it has the token of this client (`token`), and lists all
    living tickets.

    It also removes tickets that were not renewed for `dead_s` seconds. The state of the answer is present if the ticket
    was renewed, and gone if there is no such ticket. It is unwritable if the ticket cannot be renewed, and unusable if
    the queue folder (`folder`) cannot be entered."""
    return shell(_COMMON + _RENEW, folder, str(dead_s), token, str(number))


def leave_queue(token: str, number: int, folder: str = QUEUE_DIR) -> Command:
    """Return a command that removes the ticket `number` if it has the token of this client (`token`).

    A ticket with another token is kept. The state of the answer is gone, or unusable if the queue folder (`folder`)
    cannot be entered."""
    return shell(_COMMON + _LEAVE, folder, str(DEAD_S), token, str(number))


def list_tickets(removes_dead_tickets: bool, folder: str = QUEUE_DIR, dead_s: int = DEAD_S) -> Command:
    """Return a command that lists the living tickets: those that were renewed in the last `dead_s` seconds.

    At most 200 are listed. If `removes_dead_tickets`, it removes the tickets that were not renewed in that time. The
    state of the answer is seen, or unusable if the queue folder `folder` cannot be entered."""
    return shell(_COMMON + _LIST, folder, str(dead_s), "1" if removes_dead_tickets else "")


def read_tickets(text: str) -> TicketAnswer | None:
    """Parse the output of a ticket script. Return None if the script did not run to its end.

    The text is split only at newlines: a ticket may contain other characters at which `str.splitlines` would split."""
    head, is_whole, rest = text.partition("\ndone\n")
    if not is_whole:
        return None
    values: dict[str, str] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(" ")
        values.setdefault(key, value)
    number = {key: int(value) for key, value in values.items() if value.isdecimal()}
    found = [_ticket(line, number.get("now", 0)) for line in rest.split("\n")]
    return TicketAnswer(
        state=values.get("state", "unusable"),
        tickets=tuple(sorted((ticket for ticket in found if ticket), key=lambda ticket: ticket.number)),
        number=number.get("number", 0),
        reason=values.get("reason", ""),
        disk=values.get("disk", ""),
        sort_key=(values.get("machine", ""), " ".join(values.get("reached", "").split()[2:])),
    )


def _ticket(line: str, now: int) -> Ticket | None:
    word, number, age, content = (*line.split(" ", 3), "", "", "")[:4]
    if word != "ticket" or not number.isdecimal() or not age.lstrip("-").isdecimal():
        return None
    return read_ticket(int(number), int(age), content, now)
