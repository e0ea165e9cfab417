"""The shell commands of a sync on a host: ask what the host holds, and receive what it lacks. Pure.

They need a POSIX shell and its usual tools, tar, gzip, sha256sum, find, xargs and stat (of GNU or busybox). zstd is
used only if the host has it.

The state folder beside the code folder (`code.sync`) has these files:
- `index`: a line with the tree's id and the digest of the listing, a line with all files of the tree of the last
  sync as JSON, and the listing: mode, size and times of every file right after that sync;
- `paths`: the paths of these files, for xargs;
- `pending`: the files that a running sync is about to write. After an interruption the next sync finds them here;
- `in.<token>`: the inbox, a folder into which the streams of one sync are unpacked;
- `commit`: the lock of the sync that is moving its files into place.

Files are unpacked into the inbox and renamed into place, the index last. So a running job sees either the old file
or the new one, and the next sync completes an interrupted one. Two syncs at the same time have an inbox each. If
another sync has replaced the index in the meantime, a sync succeeds if the other sync wrote equal code, else it
fails. Folders are made as needed, with mode 755. Only empty folders are entries of the index.

A sync destroys nothing that a job wrote. If a job has changed or made a file that a sync is about to replace or
remove, the file is moved to `jobs/.replaced/<token>` beside the code folder. `fetch` and `down` bring it from there to
the controller."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.shell.command import Command, command, shell
from hvdocker.shell.host_folders import KEEP_CHANGED, OPEN_OWN, RENAME, REPLACED_FOLDER
from hvdocker.sync.codec import Codec

STREAM_COMPLETE = "meta/done"

_VARIABLES = "state=$2; in=$3; TZ=UTC0; export TZ; "
# The listing shows changed files in one round trip without reading them: writing to a file, replacing it or
# changing its permissions moves its change time, which cannot be set back. With `checks_contents` the files
# are hashed too.
# Of a folder only the mode is listed: jobs may write into it. Modes of folders begin with 4.
_LIST = (
    'look() { xargs -0 stat -c //%f/%s/%y/%z/%n < "${1:-$state/paths}" 2>/dev/null; }; '
    "folders_without_times() { sed 's|^\\(//4[0-9a-f]*\\)/[^/]*/[^/]*/[^/]*/|\\1/|'; }; "
    'list() { look "$@" | folders_without_times; }; '
    'list_all() { look > "$in/look" && folders_without_times < "$in/look"; }; '
)

_ASK = (
    'zstd=; command -v zstd >/dev/null 2>&1 && zstd=zstd; id=; digest=; '
    # Without the index, files that were removed here would stay on the host.
    'cd -- "$1" 2>/dev/null || { open_own 700 "$1"; cd -- "$1" 2>/dev/null; } || { echo "differs $zstd"; exit 0; }; '
    '[ -r "$state/index" ] && read -r id digest < "$state/index"; '
    'if [ -z "$5" ] && [ "$id" = "$4" ] && [ ! -e "$state/pending" ] && '
    '[ "$(list | sha256sum)" = "$digest  -" ]; then echo "same $zstd"; exit 0; fi; '
    'echo "differs $zstd"; '
    '{ cat "$state/index"; printf "\\000"; cat "$state/pending"; printf "\\000"; list; printf "\\000"; '
    '[ -z "$5" ] || sha256sum -c -; } 2>/dev/null | gzip -1; exit 0'
)  # fmt: skip

_UNPACK = {
    Codec.NONE: 'tar $wide -xpf - -C "$in"',
    Codec.GZIP: 'gzip -dc | tar $wide -xpf - -C "$in"',
    Codec.ZSTD: 'zstd -dcq | tar $wide -xpf - -C "$in"',
}
# GNU tar reads 10 kB at a time by default, which is a third of its work on large files.
_LARGE_BLOCKS = 'wide=; case $(tar --version 2>/dev/null) in *GNU*) wide="-b 512";; esac; '
# A file of another size than the local one was cut off.
_RECEIVE_FILE = (
    'umask 022; file=$in/new/$4; mkdir -p -- "${file%/*}" && cat > "$file" && [ "$(wc -c < "$file")" -eq "$5" ] && '
    'chmod "$6" "$file" && touch -d "$7" "$file" || { rm -rf -- "$in"; exit 1; }'
)
# Removes inboxes that are older than a day: their syncs have ended.
_MAKE_INBOX = (
    'for dir in "$1" "$state" "$in"; do [ ! -h "$dir" ] || '
    '{ echo "$dir is a link: nothing is written through it" >&2; exit 1; }; done; '
    'mkdir -p -- "$1" "$in" || exit 1; '
    'find "$state" -maxdepth 1 -name "in.*" -mmin +1440 -exec rm -rf {} + 2>/dev/null; '
)

# Lets one sync at a time move files into place. A lock is stale if no process has the pid in it.
_COMMIT_LOCK = (
    'alone=$state/commit; tries=0; until mkdir -- "$alone" 2>/dev/null; do '
    'other=$(cat "$alone/pid" 2>/dev/null); [ -n "$other" ] || [ "$tries" -lt 50 ] || other=none; '
    'if [ -n "$other" ] && ! kill -0 "$other" 2>/dev/null; then rm -rf -- "$alone"; continue; fi; '
    'tries=$((tries + 1)); [ "$tries" -lt 600 ] || '
    '{ echo "another sync is putting its files in place: $alone" >&2; exit 1; }; '
    'sleep 0.1 2>/dev/null || sleep 1; done; echo $$ > "$alone/pid"; trap \'rm -rf -- "$alone"\' EXIT; '
)
OTHER_CODE = "another sync put other code there meanwhile"
# The changes were computed from the index that the host sent, so they are valid only as long as the host still
# has that index. If another sync has replaced it with an index of equal code, there is nothing left to do.
_CHECK_BASE = (
    'id=; digest=; [ ! -r "$state/index" ] || read -r id digest < "$state/index"; '
    'if [ "$5" != unknown ] && [ "$5" != "$id $digest" ]; then '
    '[ "$id" = "$4" ] && [ ! -e "$state/pending" ] && { rm -rf -- "$in"; exit 0; }; '
    f'rm -rf -- "$in"; echo "{OTHER_CODE}" >&2; exit 1; fi; '
)

# Opens the folders of the code folder if one of those in which files are written or removed is closed: a job may have
# made its data read-only. The folders are only tested here, because a path may lead through a link to the outside.
_OPEN = (
    '(cd -- "$1" && xargs -0 sh -c \'for dir do [ ! -d "$dir" ] || '
    '{ [ -r "$dir" ] && [ -w "$dir" ] && [ -x "$dir" ]; } || exit 255; done\' sh < "$in/meta/folders") 2>/dev/null || '
    'open_own 700 "$1"; '
)
# Removes a symlink whose path has to be a folder: files would be written through it, outside of the code folder.
_UNLINK = 'for dir do [ ! -h "$dir" ] || rm -f -- "$dir" || exit 255; done'
# Keeps a path that has become a folder since the last sync: a job made it.
_REMOVE = (
    'for path do shift; [ -d "$path" ] && [ ! -h "$path" ] || set -- "$@" "$path"; done; '
    '[ $# -eq 0 ] || rm -f -- "$@" || exit 255'
)
# Links come first: files would be looked for through a link whose path has to be a folder. A listing has lines, so a
# file with a newline in its name is moved whether it was changed or not.
_KEEP = (
    'kept=$9; list "$in/meta/folders" | grep "^//a" | keep_changed "$in/now" || exit 1; '
    'list "$in/meta/replaced" | keep_changed "$in/now" || exit 1; '
    '[ ! -s "$in/meta/odd" ] || xargs -0 sh -c \'for path do [ ! -f "$path" ] && [ ! -h "$path" ] || '
    '{ mkdir -p -- "$0/${path%/*}" && mv -f -- "$path" "$0/$path" || exit 255; }; done\' "$kept" '
    '< "$in/meta/odd" || exit 1; '
)
_COMMIT = (
    '[ -e "$in/{done}" ] || {{ echo "the stream was cut off" >&2; rm -rf -- "$in"; exit 1; }}; '
    '{alone}{same_base}{open}cd -- "$1" && cat "$in/meta/index" >> "$state/pending" || exit 1; '
    'drop() {{ [ ! -s "$in/meta/drop" ] || xargs -0 -n 500 sh -c "$1" sh < "$in/meta/drop" || exit 1; '
    '[ ! -s "$in/meta/emptied" ] || xargs -0 rmdir -- < "$in/meta/emptied" 2>/dev/null; }}; '
    "{keep}"
    'xargs -0 sh -c "$6" sh < "$in/meta/folders" || exit 1; '
    '{before}xargs -0 sh -c "$8" "$in/new" < "$in/meta/folders" || exit 1; {after}'
    'left=; [ ! -d "$in/new" ] || left=$(find "$in/new" ! -type d | head -n 3); '
    '[ -z "$left" ] || {{ printf "could not be put in place: %s\\n" "$left" >&2; exit 1; }}; '
    'mv -f -- "$in/meta/paths" "$state/paths" || exit 1; : > "$in/listing"; '
    '[ ! -s "$state/paths" ] || list_all > "$in/listing" || '
    '{{ echo "files were taken away while they were put in place" >&2; exit 1; }}; '
    'digest=$(sha256sum < "$in/listing") && '
    '{{ printf "%s %s\\n" "$4" "${{digest%% *}}" && cat "$in/meta/index" "$in/listing"; }} > "$in/whole" && '
    'mv -f -- "$in/whole" "$state/index" && rm -f -- "$state/pending" && rm -rf -- "$in"'
)


_REWRITE_INDEX = (
    'cd -- "$1" && [ -s "$state/index" ] && [ -e "$state/paths" ] || { rm -rf -- "$state"; exit 0; }; '
    'mkdir -p -- "$in" && read -r id digest < "$state/index" || exit 1; : > "$in/listing"; '
    '[ ! -s "$state/paths" ] || list_all > "$in/listing" || { rm -rf -- "$state"; exit 0; }; '
    'digest=$(sha256sum < "$in/listing") && { printf "%s %s\n" "$id" "${digest%% *}" && '
    'sed -n 2p "$state/index" && cat "$in/listing"; } > "$in/whole" && '
    'mv -f -- "$in/whole" "$state/index" && rm -rf -- "$in"'
)


# The base of a sync that could not read the host's index, and therefore sends everything.
UNKNOWN_BASE = "unknown"


@dataclass(frozen=True)
class SyncFolder:
    """The code folder on a host (`folder`), and the folders that one sync uses there. `token` is a random text that
    identifies the sync.

    `state` is the state folder beside the code folder. `inbox` is the folder into which the sync unpacks its
    streams."""

    folder: str
    token: str

    @property
    def state(self) -> str:
        return f"{self.folder}.sync"

    @property
    def inbox(self) -> str:
        return f"{self.state}/in.{self.token}"

    @property
    def replaced(self) -> str:
        """The folder to which this sync moves a file that a job wrote, before the sync replaces or removes it in the
        code folder."""
        return f"{self.folder.rpartition('/')[0]}/{REPLACED_FOLDER}/{self.token}"

    @property
    def arguments(self) -> tuple[str, str, str]:
        return self.folder, self.state, self.inbox


def ask_contents(sync_folder: SyncFolder, tree_id: str, checks_contents: bool = False) -> Command:
    """Return the command that asks a host which files it holds. `sync_folder` is the code folder on the host, and
    `tree_id` is the id of the local tree (`Tree.id`).

    The first line of output is `same` if the host holds exactly that tree, else `differs`. It also has the word `zstd`
    if the host has this program. After `differs` follow the data from which the changes are computed, compressed by
    gzip; `parse_host_index` parses them after decompression. No data follow if the code folder is missing or cannot be
    entered.

    With `checks_contents` the command never prints `same`. It also prints what `sha256sum -c` says about the lines on
    standard input (`Entry.checksum_line` of each file)."""
    wants = "contents" if checks_contents else ""
    return shell(f"{_VARIABLES}{_LIST}{OPEN_OWN}{_ASK}", *sync_folder.arguments, tree_id, wants)


def receive(sync_folder: SyncFolder, codec: Codec, is_first: bool) -> Command:
    """Return the command that unpacks a stream from standard input into the inbox of the sync (`sync_folder.inbox`, a
    folder on the host). `codec` is the compression of the stream. `is_first` says that it is the first stream of the
    sync; the command then also makes the inbox."""
    return shell(f"{_VARIABLES}{_unpack(codec, is_first)}", *sync_folder.arguments)


@dataclass(frozen=True)
class Commit:
    """The facts that the last command of a sync needs to move the files into place.

    `tree_id` is the id of the new tree. `base` is the first line of the index from which the changes were computed. If
    the index has another first line now, another sync has changed the code. UNKNOWN_BASE means that the index could not
    be read, and skips this check. If `drops_first` is True, old files are removed before the new ones are moved into
    place, else after."""

    tree_id: str
    base: str = UNKNOWN_BASE
    drops_first: bool = False


def receive_file(sync_folder: SyncFolder, path: str, size: int, mode: int, mtime_s: int) -> Command:
    """Return the command that writes standard input to the file `path` in the inbox of the sync (`sync_folder.inbox`),
    which exists already. The file gets the permissions `mode` and the time `mtime_s`, in seconds since 1970.

    The command fails if the input is not `size` bytes long."""
    return shell(
        f"{_VARIABLES}{_RECEIVE_FILE}", *sync_folder.arguments, path, str(size), f"{mode & 0o7777:o}", f"@{mtime_s}"
    )


def receive_and_commit(sync_folder: SyncFolder, codec: Codec, is_first: bool, commit: Commit) -> Command:
    """Return the command that receives the last stream of a sync and completes the sync. It unpacks the stream from
    standard input into the inbox (`sync_folder.inbox`, a folder on the host), and then moves all files into place, the
    new index last.

    The command fails if another sync wrote other code meanwhile, which it detects with the values in `commit`. `codec`
    is the compression of the stream. `is_first` says that the sync has only this stream; the command then also makes
    the inbox."""
    drop = 'drop "$7"; '
    before, after = (drop, "") if commit.drops_first else ("", drop)
    steps = _COMMIT.format(
        done=STREAM_COMPLETE,
        before=before,
        after=after,
        alone=_COMMIT_LOCK,
        same_base=_CHECK_BASE,
        open=_OPEN,
        keep=_KEEP,
    )
    script = f"{_VARIABLES}{_LIST}{OPEN_OWN}{KEEP_CHANGED}{_unpack(codec, is_first)}{steps}"
    return shell(
        script, *sync_folder.arguments, commit.tree_id, commit.base, _UNLINK, _REMOVE, RENAME, sync_folder.replaced
    )


def rewrite_index(sync_folder: SyncFolder) -> Command:
    """Return the command that renews the listing in an index that was copied from another host together with the code
    in `sync_folder.folder`. The copied listing has the file times of the other host.

    If the index or one of its files is missing, the command removes the state folder, and the next sync sends
    everything."""
    return shell(f"{_VARIABLES}{_LIST}{_REWRITE_INDEX}", *sync_folder.arguments)


def remove_inbox(sync_folder: SyncFolder) -> Command:
    """Return the command that removes the inbox of a sync (`sync_folder`) that will not be finished. The inbox is the
    folder on the host into which the sync unpacked files."""
    return command("rm", "-rf", "--", sync_folder.inbox)


def _unpack(codec: Codec, is_first: bool) -> str:
    """Return the script that unpacks a stream with the compression `codec` into the inbox (a folder on the host). For
    the first stream of a sync (`is_first`) it also makes the inbox. If unpacking fails, it removes the inbox.

    The umask makes the code readable by all, so that a container of another user can read it. Other users of the host
    cannot reach it, because the folders above the code folder are private. Only the later streams of a sync use a
    larger block size for tar, because only a large sync has more than one stream."""
    fresh = f"{_MAKE_INBOX}wide=; " if is_first else _LARGE_BLOCKS
    return f'umask 022; {fresh}{_UNPACK[codec]} || {{ rm -rf -- "$in"; exit 1; }}; '
