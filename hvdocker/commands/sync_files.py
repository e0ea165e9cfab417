"""The two commands of a sync: what does the host hold, and here is what it lacks. They need a POSIX shell,
tar, gzip, sha256sum, find, xargs and stat (GNU's or busybox's); nothing else.

Beside the code folder lies a folder of state: `index` (what the last sync put there and how every file
looked then), `paths` (the same paths, for xargs), `pending` (the index of a sync under way), and `in`, where
a stream is unpacked before its files are renamed into place.
"""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.commands.command import Command, shell
from hvdocker.model.codec import Codec

DONE = "meta/done"
# In front of the answer: a shell's start-up file may talk before it.
ANSWER = "hvdocker-sync"

# How a file looks: whoever writes to it, replaces it or gives it other permissions moves its change time,
# which nobody can set back.
_START = "state=$2; in=$2/in; TZ=UTC0; export TZ; "
_LIST = 'list() { xargs -0 stat -c //%f/%s/%y/%z/%n < "$state/paths" 2>/dev/null; }; '

_ASK = (
    'zstd=; command -v zstd >/dev/null 2>&1 && zstd=zstd; id=; digest=; '
    'cd -- "$1" 2>/dev/null || { echo "hvdocker-sync differs $zstd"; exit 0; }; '
    '[ -r "$state/index" ] && read -r id digest < "$state/index"; '
    'if [ -z "$4" ] && [ "$id" = "$3" ] && [ ! -e "$state/pending" ] && '
    '[ "$(list | sha256sum)" = "$digest  -" ]; then echo "hvdocker-sync same $zstd"; exit 0; fi; '
    'echo "hvdocker-sync differs $zstd"; '
    '{ cat "$state/index"; printf "\\000"; cat "$state/pending"; printf "\\000"; list; printf "\\000"; '
    '[ -z "$4" ] || sha256sum -c -; } 2>/dev/null | gzip -1; exit 0'
)  # fmt: skip

_UNPACK = {
    Codec.NONE: 'tar -xpf - -C "$in"',
    Codec.GZIP: 'gzip -dc | tar -xpf - -C "$in"',
    Codec.ZSTD: 'zstd -dcq | tar -xpf - -C "$in"',
}
_FRESH = 'rm -rf -- "$in" && mkdir -p -- "$1" "$in" || exit 1; '

# A link where a folder should be would lead out of the code folder.
_UNLINK = 'for dir do [ ! -h "$dir" ] || rm -f -- "$dir" || exit 255; done'
# What became a folder since was made by a job: it stays.
_REMOVE = (
    'for path do shift; [ -d "$path" ] && [ ! -h "$path" ] || set -- "$@" "$path"; done; '
    '[ $# -eq 0 ] || rm -f -- "$@" || exit 255'
)
# A folder that is new arrives whole; in one that is there, files take the place of old ones.
_RENAME = (
    'for dir do from=$0/$dir; [ -d "$from" ] || continue; '
    'if [ ! -e "$dir" ]; then mv -- "$from" "$dir" || exit 255; continue; fi; '
    'find "$from/." ! -name . -prune ! -type d -exec sh -c \'exec mv -f -- "$@" "$0"\' "$dir/" {} + '
    "|| exit 255; done"
)
_COMMIT = (
    '[ -e "$in/{done}" ] || {{ echo "the stream was cut off" >&2; rm -rf -- "$in"; exit 1; }}; '
    'cd -- "$1" && cat "$in/meta/index" >> "$state/pending" || exit 1; '
    'drop() {{ [ ! -s "$in/meta/drop" ] || xargs -0 -n 500 sh -c "$1" sh < "$in/meta/drop" || exit 1; '
    '[ ! -s "$in/meta/emptied" ] || xargs -0 rmdir -- < "$in/meta/emptied" 2>/dev/null; }}; '
    'xargs -0 sh -c "$4" sh < "$in/meta/folders" || exit 1; '
    '{before}xargs -0 sh -c "$6" "$in/new" < "$in/meta/folders" || exit 1; {after}'
    'left=; [ ! -d "$in/new" ] || left=$(find "$in/new" ! -type d | head -n 3); '
    '[ -z "$left" ] || {{ printf "could not be put in place: %s\\n" "$left" >&2; exit 1; }}; '
    'mv -f -- "$in/meta/paths" "$state/paths" || exit 1; list > "$in/listing"; '
    'digest=$(sha256sum < "$in/listing") && '
    '{{ printf "%s %s\\n" "$3" "${{digest%% *}}" && cat "$in/meta/index" "$in/listing"; }} > "$in/whole" && '
    'mv -f -- "$in/whole" "$state/index" && rm -f -- "$state/pending" && rm -rf -- "$in"'
)


@dataclass(frozen=True)
class Stage:
    """A sync's folder on the host and the state beside it."""

    folder: str

    @property
    def state(self) -> str:
        return f"{self.folder}.sync"


def ask(stage: Stage, tree_id: str, checks_contents: bool = False) -> Command:
    """Prints `same` where the host holds that tree untouched; else everything that is needed to tell what
    it lacks. With `checks_contents` also the verdicts on the `HASH  PATH` lines on standard input."""
    wants = "contents" if checks_contents else ""
    return shell(f"{_START}{_LIST}{_ASK}", stage.folder, stage.state, tree_id, wants)


def receive(stage: Stage, codec: Codec, is_first: bool) -> Command:
    """Unpacks a stream aside."""
    return shell(f"{_START}{_unpack(codec, is_first)}", stage.folder, stage.state)


def receive_last(stage: Stage, codec: Codec, is_first: bool, tree_id: str, drops_first: bool) -> Command:
    """Unpacks the last stream aside and puts everything in its place, the new index last."""
    drop = 'drop "$5"; '
    commit = _COMMIT.format(done=DONE, before=drop if drops_first else "", after="" if drops_first else drop)
    script = f"{_START}{_LIST}{_unpack(codec, is_first)}{commit}"
    return shell(script, stage.folder, stage.state, tree_id, _UNLINK, _REMOVE, _RENAME)


def _unpack(codec: Codec, is_first: bool) -> str:
    """Readable for a container of another user; the folders above are private."""
    fresh = _FRESH if is_first else ""
    return f'umask 022; {fresh}{_UNPACK[codec]} || {{ rm -rf -- "$in"; exit 1; }}; '
