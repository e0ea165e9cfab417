"""Commands that create, pack and remove hvdocker's folders on a host. Pure: each function returns a command and runs
nothing.

The commands need a POSIX shell and tar. Some also need `find -print0`, `xargs -0` and `stat -c`."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker.shell.command import Command, command, shell

# `make_folders` prints this word and the highest folder that it created: a failed run removes only new folders.
_NEW_FOLDER = "hvdocker-new "
# The file in a cluster's folder on a host that lists the hosts which its worker trusts. A host that was
# removed from the inventory leaves no other trace on the hosts that remain.
MEMBERS_FILE = "members"
# The paths in a cluster's folder that are code; the files in a job's folder that describe its origin.
CODE_PATHS = ("code", "code.sync/index", "code.sync/paths")
ORIGIN_FILES = ("capsule.json", "code.patch")
# The folder in a cluster's folder with files of jobs that a later sync or join replaced in the code folder. It is below
# `jobs`, because containers mount that: the engine reads files there that the SSH user may not read. The dot
# keeps it from being a job.
REPLACED_FOLDER = "jobs/.replaced"
# Files and folders that a job leaves in the code folder and that are only caches.
CACHE_NAMES = ("__pycache__", "*.pyc", ".ipynb_checkpoints", ".pytest_cache")


KEPT_LINE = "hvdocker-kept"
# Moves files of the code folder, the current folder, to the folder $kept, if they are not as the last sync left them:
# a job changed them. Standard input has the listing of the files that are about to be replaced or removed, and $state
# is the folder with the index. $1 is a file for scratch. Prints KEPT_LINE and how many files were moved,
# if any were.
KEEP_CHANGED = (
    # Modes of folders begin with 4. A folder is never moved: only files are.
    'keep_changed() { grep -v \'^//4\' | sort -u > "$1" || return 1; [ -s "$1" ] || return 0; '
    '{ [ ! -e "$state/index" ] || sed 1,2d "$state/index"; } | sort -u | comm -23 "$1" - | '
    "sed 's|^//[^/]*/[^/]*/[^/]*/[^/]*/||' | { count=0; while IFS= read -r path; do "
    '[ -f "$path" ] || [ -h "$path" ] || continue; '
    'mkdir -p -- "$kept/${path%/*}" && mv -f -- "$path" "$kept/$path" || exit 1; count=$((count + 1)); done; '
    f'[ "$count" -eq 0 ] || echo "{KEPT_LINE} $count"; }}; }}; '
)
# Moves unpacked code into the code folder, the current folder. $0 has the code; the arguments are its folders. A new
# folder is moved as a whole; in an existing folder, new files replace old ones. An empty folder has no file that
# could fail to arrive, so what is in its way is looked for.
RENAME = (
    'for dir do from=$0/$dir; [ -d "$from" ] || continue; '
    'if [ ! -e "$dir" ]; then mv -- "$from" "$dir" || exit 255; continue; fi; '
    '[ -d "$dir" ] || { printf "a file is where a folder has to be: %s\\n" "$dir" >&2; exit 255; }; '
    'find "$from/." ! -name . -prune ! -type d -exec sh -c \'exec mv -f -- "$@" "$0"\' "$dir/" {} + '
    "|| exit 255; done"
)
# Moves what is in the way of new code from the code folder, the current folder, to the folder $kept. $0 has the new
# code; the arguments are its paths, folders before what is in them. A folder is not in the way of a folder.
_MOVE_ASIDE = (
    'for path do [ -e "$path" ] || [ -h "$path" ] || continue; '
    '[ -d "$path" ] && [ ! -h "$path" ] && [ -d "$0/$path" ] && [ ! -h "$0/$path" ] && continue; '
    'mkdir -p -- "$kept/${path%/*}" && mv -f -- "$path" "$kept/$path" || exit 255; done'
)


def make_folders(root: str, paths: Iterable[str], is_shared: bool = False, members: str = "") -> Command:
    """Return the command that creates the folders `paths` if they are missing, and makes them private to their owner.

    With `is_shared` it opens them to all, for a container whose user is not the SSH user. Other folders that it creates
    above them are private in either case. `root` is the folder that contains all of `paths`, or one of them. If `root`
    did not exist before, the command prints a line for `highest_new_folder`. `members` is the line to write into
    MEMBERS_FILE (the list of the hosts that the worker trusts) in `root`. If it is empty, the file is not written."""
    script = (
        "umask 077; above=$1; new=; "
        'while [ -n "$above" ] && [ ! -e "$above" ]; do new=$above; above=${above%/*}; done; '
        f'[ -z "$new" ] || printf \'%s\\n\' "{_NEW_FOLDER}$new"; '
        f'root=$1; mode=$2; members=$3; shift 3; mkdir -p -- "$@" && chmod -- "$mode" "$@" || exit 1; '
        f'[ -z "$members" ] || printf \'%s\\n\' "$members" > "$root/{MEMBERS_FILE}"'
    )
    return shell(script, root, "777" if is_shared else "700", members, *paths)


# Lets the SSH user use its own files and folders below the given paths: a job may have closed them. The first
# argument has the permissions that a folder needs. `find` looks into a folder after the chmod, so folders in
# closed folders are found too.
OPEN_OWN = (
    "open_own() { perm=$1; shift; "
    'find "$@" -user "$(id -u)" \\( -type d ! -perm "-$perm" -o -type f ! -perm -400 \\) '
    "-exec chmod u+rwX {} \\; 2>/dev/null; }; "
)


def highest_new_folder(text: str) -> str | None:
    """Return the highest folder that the command of `make_folders` created: its root, or a parent folder of the root.

    Return None if the root existed before. `text` is the output of that command. The result is passed to
    `remove_new_folders`."""
    found = (line.removeprefix(_NEW_FOLDER) for line in text.splitlines() if line.startswith(_NEW_FOLDER))
    return next(found, None)


def remove_tree(path: str) -> Command:
    """Return the command that removes the folder `path`, then its parent folders up to `.hvdocker` (included), as long
    as they are empty.

    If no parent folder is named `.hvdocker`, no parent folder is removed. The command succeeds if the folder does not
    exist."""
    return _remove_tree("*/.hvdocker/*", path)


def remove_new_folders(path: str, highest: str) -> Command:
    """Return the command that undoes `make_folders`.

    It removes the folder `path`, and its parent folders up to `highest` (included), as long as they are empty.
    `highest` is the highest folder that `make_folders` made (from `highest_new_folder`). Folders above it existed
    before, and stay even if they are empty: a running worker may have such a folder as a mount, and would not see a new
    folder at its path."""
    return _remove_tree('"$2"/*', path, highest)


def _remove_tree(removable: str, *words: str) -> Command:
    """Return the command that removes a folder, and then its parent folders upwards, as long as they are empty and
    match the shell pattern `removable`.

    The pattern is compared with the path of a parent folder followed by a slash. The first of `words` is the folder.
    The pattern can use the other words as $2, …."""
    script = (
        f"{OPEN_OWN}"
        'rm -rf -- "$1" 2>/dev/null || { open_own 700 "$1"; rm -rf -- "$1"; } || exit 1; dir=${1%/*}; '
        f"while case $dir/ in {removable}) true;; *) false;; esac; do "
        'rmdir -- "$dir" 2>/dev/null || break; dir=${dir%/*}; done'
    )
    return shell(script, *words)


def unpack_tar(folder: str) -> Command:
    """Return the command that unpacks a tar stream from standard input into a folder, which it creates if it is
    missing.

    Files that are readable by all in the archive stay so, because a container may have another user than the SSH user.
    Parent folders that exist keep their mode."""
    return shell('umask 022; mkdir -p -- "$1" && exec tar -xf - -C "$1"', folder)


def write_members(folder: str) -> Command:
    """Return the command that writes standard input to MEMBERS_FILE in `folder`, the cluster's folder on the host.

    MEMBERS_FILE lists the hosts that the worker trusts. The command creates the folder again if it was removed."""
    script = 'umask 077; mkdir -p -- "$1" && cat > "$1/$2.part" && mv -f -- "$1/$2.part" "$1/$2"'
    return shell(script, folder, MEMBERS_FILE)


def replace_code(folder: str, is_shared: bool = False) -> Command:
    """Return the command that replaces the code of an earlier sync by a tar stream from standard input.

    It is used for a host that joins a running job: the stream has the code and the index (CODE_PATHS) of another host.
    The index is the list of the files as the sync left them; it is replaced too. `folder` is the cluster's folder. With
    `is_shared` the code is made readable by all, for a container whose user is not the SSH user.

    Files of the earlier sync that no job changed are deleted. Files of the sync that a job changed move to
    REPLACED_FOLDER, from where `fetch` gets them. So do other files of a job if the stream has something else at their
    paths. All other files of a job stay in the code folder: a rank that starts again on this host looks for its
    checkpoint there. A stream that breaks off changes nothing in the code folder."""
    script = (
        f'{KEEP_CHANGED}umask 022; cd -- "$1" || exit 1; state=$PWD/code.sync; in=$state/in.joining; new=$in/code; '
        f"kept=$PWD/{REPLACED_FOLDER}/join.$(date +%s).$$; TZ=UTC0; export TZ kept; "
        'rm -rf -- "$in" && mkdir -p -- code "$new" && tar -xf - -C "$in" || exit 1; '
        '[ -z "$2" ] || chmod -R a+rX "$new" || exit 1; '
        '(cd -- "$new" && find . -print0 > ../all && find . -type d -print0 > ../folders) && cd code || exit 1; '
        'if [ -s "$state/paths" ]; then '
        'xargs -0 stat -c //%f/%s/%y/%z/%n < "$state/paths" 2>/dev/null | keep_changed "$in/now" || exit 1; '
        'xargs -0 rm -f -- < "$state/paths" 2>/dev/null; fi; '
        'xargs -0 sh -c "$3" "$new" < "$in/all" && xargs -0 sh -c "$4" "$new" < "$in/folders" || exit 1; '
        'rm -f -- "$state/index" "$state/paths" "$state/pending"; '
        '[ ! -d "$new.sync" ] || mv -f -- "$new.sync"/* "$state/" || exit 1; rm -rf -- "$in"'
    )
    return shell(script, folder, "shared" if is_shared else "", _MOVE_ASIDE, RENAME)


# Exit status 1 of GNU tar is not an error: it means that a file changed meanwhile, which is normal in the folder
# of a running job.
_TAR_STATUS = "if [ $code -eq 1 ]; then case $(tar --version 2>/dev/null) in *GNU*) exit 0;; esac; fi; exit $code"


def pack_tar(folder: str, names: Iterable[str]) -> Command:
    """Return the command that writes a tar stream of the files and folders `names` in `folder` to standard output.

    Names that do not exist are left out; if none exists, the archive is empty. A job may have removed the SSH user's
    permission to read its own files; the command first restores it by chmod. If a file cannot be read, the exit status
    is not 0, and the archive has all other files."""
    script = (
        f"{OPEN_OWN}"
        'cd -- "$1" || exit 1; shift; for name do shift; [ -e "$name" ] && set -- "$@" "$name"; done; '
        '[ $# -gt 0 ] || { head -c 10240 /dev/zero; exit 0; }; open_own 500 "$@"; '
        f'tar -cf - -- "$@"; code=$?; {_TAR_STATUS}'
    )
    return shell(script, folder, *names)


def pack_listed(folder: str) -> Command:
    """Return the command that writes a tar stream of files in `folder` to standard output.

    Standard input has the paths of the files, each ended by a NUL byte. If a file cannot be read, the exit status is
    not 0, and the archive has all other files."""
    # Not every tar reads such a list, so only GNU tar gets it. In the lists for others a name cannot contain a newline.
    script = (
        'cd -- "$1" || exit 1; case $(tar --version 2>/dev/null) in '
        "*GNU*) tar --no-recursion --null -T - -cf -; code=$?;; "
        "*) tr '\\000' '\\n' | tar -T /dev/stdin -cf -; code=$?;; esac; "
        f"{_TAR_STATUS}"
    )
    return shell(script, folder)


def list_unreadable(folder: str, names: Iterable[str]) -> Command:
    """Return the command that prints the paths in `folder`, below `names`, that the SSH user cannot read.

    Each path is ended by a NUL byte. The command prints nothing if all are readable. It is used after `pack_tar`, to
    read these files in another way."""
    script = (
        # A link is readable whatever it leads to.
        'cd -- "$1" || exit 1; shift; find "$@" -exec sh -c \'for path do '
        '[ ! -h "$path" ] && [ -e "$path" ] || continue; '
        '[ -r "$path" ] && { [ ! -d "$path" ] || [ -x "$path" ]; } || '
        'printf "%s\\000" "$path"; done\' sh {} + 2>/dev/null; exit 0'
    )
    return shell(script, folder, *names)


def list_existing(folder: str) -> Command:
    """Return the command that prints those of the paths on standard input that exist in `folder`.

    Each path, in the input and in the output, is ended by a NUL byte."""
    script = (
        'cd -- "$1" || exit 1; xargs -0 sh -c \'for path do '
        '[ ! -e "$path" ] && [ ! -h "$path" ] || printf "%s\\000" "$path"; done\' sh; exit 0'
    )
    return shell(script, folder)


def write_file(path: str, is_shared: bool = False) -> Command:
    """Return the command that writes standard input to the file `path`.

    A reader sees the old or the new content, never a part. Only the owner can read the file. With `is_shared` all users
    can, for a container whose user is not the SSH user."""
    script = 'umask "$2"; cat > "$1.part" && mv -f -- "$1.part" "$1"'
    return shell(script, path, "022" if is_shared else "077")


def read_file(path: str) -> Command:
    """Return the command that prints the file `path`."""
    return command("cat", "--", path)
