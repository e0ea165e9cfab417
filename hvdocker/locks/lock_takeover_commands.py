"""Shell scripts that take, renew, read and release the lock of a host, and the parser of their answers. Pure.

The lock is the folder `/tmp/hvdocker.lock` with the file `who.json` in it (owner, machine, verb, cluster, start
time, random token). A client (hvdocker process) first writes its own complete file, and then creates a hard link to it
with the name `who.json`. The first client that succeeds holds the lock. The modification time of the file says when
the holder last renewed the lock (a beat). The folder is writable by all users (0777): if it were private, only root
could remove the stale lock of another user from a sticky /tmp.
The lock protects users who trust each other. Any user of the host can take or remove it, but can do no more
with it. Users who may use the engine are equal to root on that host anyway.

A stale lock is taken over by creating the hard link `next.<token of the stale holder>`. It can be created only once,
so one of two clients that find the same stale lock wins. The files form a chain: who.json → next.<token in who.json> →
…, and the last file of the chain names the holder. After a client has created its link, it follows the chain again. If
it acted on an outdated view, its link is not in the chain, and it does not become the holder. The winner then replaces
who.json with its own file.

To release a lock, its holder first creates an empty file `next.<own token>` and checks that this file is the
end of the chain. If it is, no other client can take the lock over while the files are removed. If it is not,
another client has already taken the lock over, and the lock is kept.

If the file system accepts no file, because it is full or read-only, the answer is `unwritable`, unless a client
holds the lock. A lock folder that is still empty after such an attempt is removed."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.locks.holder import LOCK_DIR, STALE_S, Claim, Holder, read_holder
from hvdocker.locks.tmp_folder import ENTER_FUNCTION
from hvdocker.shell.command import Command, shell

_COMMON = (
    r"""
dir=$1; token=$2; mine=.try.$2.$$
cd -P -- "${dir%/*}" && parent=$PWD || exit 1
tell() {
    # What somebody else wrote comes last: it cannot pass for a line of ours.
    echo "state $1"; echo "now ${now:-0}"; echo "reached ${SSH_CONNECTION:-}"
    [ -r /etc/machine-id ] && read -r id < /etc/machine-id && echo "machine $id"
    [ -n "$age" ] && echo "age $age"
    [ -n "$was_age" ] && echo "was_age $was_age"
    [ -n "$2" ] && echo "reason $2"
    [ -n "$disk" ] && echo "disk $disk"
    echo "done"
    [ "$1" != unusable ] || rm -f -- "$mine"
    [ -n "$line" ] && printf 'who %s\n' "$line"
    [ -n "$was_age" ] && printf 'was %s\n' "$was"
    exit 0
}
"""
    + ENTER_FUNCTION
    + r"""
follow() {
    found=; line=; end=; at=who.json; hops=0
    while [ -e "$at" ] || [ -L "$at" ]; do
        if [ -L "$at" ] || [ ! -f "$at" ]; then tell unusable "$dir/$at is not a file"; fi
        found=$at; line=
        { IFS= read -r line < "$at"; } 2>/dev/null
        end=${line#*'"token": "'}; end=${end%%'"'*}
        case $end in ''|*[!0-9a-f]*) end=0;; esac
        at=next.$end; hops=$((hops + 1)); [ $hops -lt 9 ] || break
    done
}
look() {
    looks=0
    while [ $looks -lt 5 ]; do
        looks=$((looks + 1)); now=$(date +%s); age=
        follow
        [ -n "$found" ] || return 0
        beat=$(stat -c %Y -- "$found" 2>/dev/null || stat -f %m -- "$found" 2>/dev/null)
        case $beat in ''|*[!0-9]*) ;; *) age=$((now - beat)); return 0;; esac
    done
    tell unusable "the time of $dir/$found cannot be read"
}
# Does not look for the age, which takes two processes.
holds() { age=; follow; [ -n "$found" ] && [ "$end" = "$token" ]; }
"""
)

_TAKE = r"""
rest=$3; stale=$4; tries=0; why=; stuck=
drop() { rm -f -- "$mine"; }
refused() {
    disk=$(df -P -- "$parent" 2>/dev/null | tail -n 1)
    cd -- "$parent" && rmdir -- "$dir" 2>/dev/null
    tell unwritable "${why:-nothing can be written there}"
}
while [ $tries -lt 9 ]; do
    tries=$((tries + 1))
    umask 0; made=$(mkdir -m 777 -- "$dir" 2>&1); umask 022
    enter || { why=$made; stuck=1; continue; }
    if [ ! -w . ]; then
        look
        [ -n "$found" ] && [ "$age" -le "$stale" ] && tell held
        [ -w "$parent" ] || { why="$parent is not writable"; refused; }
        tell unusable "you may not write there: $(ls -ld -- "$dir" 2>/dev/null)"
    fi
    stuck=
    why=$( { set -C
        printf '{"token": "%s", "since": %s, %s\n' "$token" "$(date +%s)" "$rest" > "$mine"; } 2>&1 ) \
        && [ -s "$mine" ] || stuck=1
    follow
    [ -z "$found" ] || look
    if [ -n "$stuck" ]; then
        drop
        if [ -n "$found" ]; then
            [ "$end" != "$token" ] || tell taken
            [ "$age" -gt "$stale" ] || tell held
        fi
        continue
    fi
    if [ -z "$found" ]; then
        why=$(ln -n -- "$mine" who.json 2>&1) || stuck=1
    elif [ "$end" = "$token" ]; then
        drop; tell taken
    elif [ "$age" -gt "$stale" ]; then
        old=$line; old_age=$age; slot=next.$end
        if why=$(ln -n -- "$mine" "$slot" 2>&1); then
            if holds; then mv -f -- "$mine" who.json && was=$old && was_age=$old_age; fi
            rm -f -- "$slot"
        fi
    elif [ -z "$line" ]; then
        # It is being given back at this moment.
        drop; sleep 1; continue
    else
        drop; tell held
    fi
    drop
    holds && tell taken
    [ -z "$found" ] || stuck=
done
[ -n "$stuck" ] && refused
[ -z "$found" ] || look
[ -n "$found" ] && tell held
tell unusable "${why:-it cannot be written}"
"""

_BEAT = r"""
if enter && holds; then touch -c -- "$found" && tell taken; fi
[ -z "$found" ] || look
[ -n "$found" ] && tell held
tell free
"""

_RELEASE = r"""
enter || tell free
# Two releases of one lock, of a host with two names, can meet: the later one must not leave the folder behind.
none() { look; [ -n "$found" ] && tell held; cd -- "$parent" && rmdir -- "$dir" 2>/dev/null; tell free; }
holds || none
(set -C; : > "next.$token") 2>/dev/null || none
follow
if [ "$found" != "next.$token" ]; then rm -f -- "next.$token"; none; fi
set --
for left in next.* .try.*; do
    if [ "$left" != "next.$token" ] && { [ -e "$left" ] || [ -L "$left" ]; }; then set -- "$@" "$left"; fi
done
# In this order: a link of the chain must not go before its beginning, and the last file keeps others from taking the
# lock over until then.
rm -f -- who.json "$@" "next.$token"
cd -- "$parent" && rmdir -- "$dir" 2>/dev/null
line=; age=
tell free
"""

_LOOK = r"""
enter && look
[ -n "$found" ] && tell held
tell free
"""


@dataclass(frozen=True)
class LockAnswer:
    """The answer of a host about its lock.

    `state` is taken (this client holds the lock), held, free, unusable or unwritable. Held means that another client
    holds the lock. In the answer to `look_at_lock` it means any client, and after a renewal or release that failed it
    may be this one. `holder` is the client that holds the lock, None if it is free. `replaced_holder` is the stale
    holder whose lock this client took over, None if there was none. `reason` says why the lock is unusable or
    unwritable. `disk` is the line of `df` for the folder if it is unwritable. `sort_key` is (machine-id, address and
    port of sshd). Every client sorts hosts by this key, whatever names its inventory gives them."""

    state: str
    holder: Holder | None = None
    replaced_holder: Holder | None = None
    reason: str = ""
    disk: str = ""
    sort_key: tuple[str, str] = ("", "")

    @property
    def is_taken(self) -> bool:
        return self.state == "taken"


def take_lock(claim: Claim, folder: str = LOCK_DIR, stale_s: int = STALE_S) -> Command:
    """Return a command that takes the lock if it is free, stale or already held by this claim.

    A lock is stale if it was not renewed for `stale_s` seconds. `folder` is the lock folder on the host; only tests
    pass another one. `read_lock` parses the output. Its state is taken, held (by another client), unusable (the lock
    folder is no folder, or this user may not use it) or unwritable (its disk is full or read-only)."""
    return shell(_COMMON + _TAKE, folder, claim.token, claim.as_json().removeprefix("{"), str(stale_s))


def beat_lock(token: str, folder: str = LOCK_DIR) -> Command:
    """Return a command that renews the lock in `folder` if the client with this token (`Claim.token`) holds it.

    The state of the answer is taken if the lock was renewed, free if no client holds it, and unusable if the lock
    folder cannot be read. It is held if another client holds the lock. It is held too if this client holds the lock but
    could not renew it."""
    return shell(_COMMON + _BEAT, folder, token)


def release_lock(token: str, folder: str = LOCK_DIR) -> Command:
    """Return a command that releases the lock in `folder` if the client with this token (`Claim.token`) holds it.

    A lock with another token is kept. The state of the answer is free if no client holds the lock any more. It is held
    if another client holds the lock or the lock could not be released, and unusable if the lock folder cannot be
    read."""
    return shell(_COMMON + _RELEASE, folder, token)


def look_at_lock(folder: str = LOCK_DIR) -> Command:
    """Return a command that reads the lock in `folder` and changes nothing.

    The state of the answer is held, free, or unusable if the lock folder cannot be read."""
    return shell(_COMMON + _LOOK, folder, "0")


def read_lock(text: str) -> LockAnswer | None:
    """Parse the output of a lock script. Return None if the script did not run to its end.

    The text is split only at newlines: a lock file may contain other characters at which `str.splitlines` would
    split."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, _, value = line.partition(" ")
        values.setdefault(key, value)
    if "done" not in values:
        return None
    number = {key: int(value) for key, value in values.items() if value.isdecimal()}
    now = number.get("now", 0)
    held, robbed = "age" in values, "was_age" in values
    return LockAnswer(
        state=values.get("state", "unusable"),
        holder=read_holder(values.get("who", ""), number.get("age", 0), now) if held else None,
        replaced_holder=read_holder(values.get("was", ""), number.get("was_age", 0), now) if robbed else None,
        reason=values.get("reason", ""),
        disk=values.get("disk", ""),
        sort_key=(values.get("machine", ""), " ".join(values.get("reached", "").split()[2:])),
    )
