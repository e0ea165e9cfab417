"""Commands for hvdocker's folders on a host: create, pack, remove. They need a POSIX shell and tar. Nothing runs
here: each function returns a command. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker.shell.command import Command, shell

# `make_folders` prints this if the root does not exist yet: a failed run removes only new folders.
NEW_ROOT_LINE = "hvdocker-new"
# The file in a cluster's folder on a host that lists the hosts which its worker trusts. A host that was
# removed from the inventory leaves no other trace on the hosts that remain.
MEMBERS_FILE = "members"
# The paths in a cluster's folder that are code; the files in a job's folder that describe its origin.
CODE_PATHS = ("code", "code.sync/index", "code.sync/paths")
ORIGIN_FILES = ("capsule.json", "code.patch")


def make_folders(root: str, paths: Iterable[str], is_shared: bool = False) -> Command:
    """Create the folders `paths`, private to their owner. With `is_shared` they are open to all, for a container
    whose user is not the SSH user. Their parent folders are private in either case. The command prints
    NEW_ROOT_LINE if `root` did not exist before."""
    script = f'umask 077; [ -e "$1" ] || echo {NEW_ROOT_LINE}; mode=$2; shift 2; '
    script += 'mkdir -p -- "$@" && chmod "$mode" -- "$@"'
    return shell(script, root, "777" if is_shared else "700", *paths)


def remove_tree(path: str) -> Command:
    """Remove a folder. Then remove its parent folders up to `.hvdocker`, as long as they are empty."""
    script = (
        'rm -rf -- "$1" || exit 1; dir=${1%/*}; '
        "while case $dir in */.hvdocker|*/.hvdocker/*) true;; *) false;; esac; do "
        'rmdir -- "$dir" 2>/dev/null || break; dir=${dir%/*}; done'
    )
    return shell(script, path)


def unpack_tar(folder: str) -> Command:
    """Unpack a tar stream from standard input into a folder. The files are readable by all, so that a container of
    another user can read them. Parent folders that exist keep their mode."""
    return shell('umask 022; mkdir -p -- "$1" && exec tar -xf - -C "$1"', folder)


def write_members(folder: str) -> Command:
    """Write standard input to MEMBERS_FILE in the folder. Create the folder again if it was removed."""
    script = 'umask 077; mkdir -p -- "$1" && cat > "$1/$2.part" && mv -f -- "$1/$2.part" "$1/$2"'
    return shell(script, folder, MEMBERS_FILE)


def replace_code(folder: str, is_shared: bool = False) -> Command:
    """Replace the code of an earlier sync, and its index, by a tar stream from standard input. The stream has the
    CODE_PATHS of another host. With `is_shared` the code is made readable by all."""
    script = (
        'umask 022; cd -- "$1" && mkdir -p code code.sync || exit 1; '
        "[ ! -s code.sync/paths ] || (cd code && xargs -0 rm -f -- < ../code.sync/paths); "
        "rm -rf code.sync; tar -xf - || exit 1; "
        '[ -z "$2" ] || chmod -R a+rX code'
    )
    return shell(script, folder, "shared" if is_shared else "")


def pack_tar(folder: str, names: Iterable[str]) -> Command:
    """Write a tar stream of the `names` in a folder. Names that do not exist are left out; if none exists, the
    archive is empty. Exit status 1 of GNU tar is not an error: it means that a file changed meanwhile, which is
    normal in the folder of a running job."""
    script = (
        'cd -- "$1" || exit 1; shift; for name do shift; [ -e "$name" ] && set -- "$@" "$name"; done; '
        '[ $# -gt 0 ] || { head -c 10240 /dev/zero; exit 0; }; tar -cf - -- "$@"; code=$?; '
        "if [ $code -eq 1 ]; then case $(tar --version 2>/dev/null) in *GNU*) exit 0;; esac; fi; exit $code"
    )
    return shell(script, folder, *names)


def write_file(path: str, is_shared: bool = False) -> Command:
    """Write standard input to a file atomically. Only the owner can read the file; with `is_shared` all users can,
    for a container of another user."""
    script = 'umask "$2"; cat > "$1.part" && mv -f -- "$1.part" "$1"'
    return shell(script, path, "022" if is_shared else "077")
