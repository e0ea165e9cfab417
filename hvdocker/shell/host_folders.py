"""Commands that make, pack and remove our folders on a host; they need a POSIX shell and tar."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker.shell.command import Command, shell

# Said before anything is made, where the root is not there yet.
NEW = "hvdocker-new"
# In a cluster's folder: whom its worker trusts.
MEMBERS = "members"
# What of a cluster's folder is code, and what of a job's tells how it came about.
CODE = ("code", "code.sync/index", "code.sync/paths")
PAPERS = ("capsule.json", "code.patch")


def make_folders(root: str, paths: Iterable[str], is_shared: bool = False) -> Command:
    """Private to their owner, or open to a container whose user is another than the SSH user; the
    folders above them stay private either way."""
    script = (
        f'umask 077; [ -e "$1" ] || echo {NEW}; mode=$2; shift 2; mkdir -p -- "$@" && chmod "$mode" -- "$@"'
    )
    return shell(script, root, "777" if is_shared else "700", *paths)


def remove_tree(path: str) -> Command:
    """The folder, and the folders above it that are ours and empty then."""
    script = (
        'rm -rf -- "$1" || exit 1; dir=${1%/*}; '
        "while case $dir in */.hvdocker|*/.hvdocker/*) true;; *) false;; esac; do "
        'rmdir -- "$dir" 2>/dev/null || break; dir=${dir%/*}; done'
    )
    return shell(script, path)


def unpack(folder: str) -> Command:
    """Everything, for a plan as a script. Readable for a container of another user; the folders above are
    private."""
    return shell('umask 022; mkdir -p -- "$1" && exec tar -xf - -C "$1"', folder)


def write_members(folder: str) -> Command:
    """Standard input becomes the file; also where somebody took the folder away."""
    script = 'umask 077; mkdir -p -- "$1" && cat > "$1/$2.part" && mv -f -- "$1/$2.part" "$1/$2"'
    return shell(script, folder, MEMBERS)


def take_code(folder: str, is_shared: bool = False) -> Command:
    """Unpacks the code of another host, in place of what an earlier sync brought, with its index. Readable
    for a container of another user where need be."""
    script = (
        'umask 022; cd -- "$1" && mkdir -p code code.sync || exit 1; '
        "[ ! -s code.sync/paths ] || (cd code && xargs -0 rm -f -- < ../code.sync/paths); "
        "rm -rf code.sync; tar -xf - || exit 1; "
        '[ -z "$2" ] || chmod -R a+rX code'
    )
    return shell(script, folder, "shared" if is_shared else "")


def pack(folder: str, names: Iterable[str]) -> Command:
    """Those of the names that are there. GNU tar's exit status 1 means that a file was being written
    meanwhile, which is how a running job's folder is."""
    script = (
        'cd -- "$1" || exit 1; shift; for name do shift; [ -e "$name" ] && set -- "$@" "$name"; done; '
        '[ $# -gt 0 ] || { head -c 10240 /dev/zero; exit 0; }; tar -cf - -- "$@"; code=$?; '
        "if [ $code -eq 1 ]; then case $(tar --version 2>/dev/null) in *GNU*) exit 0;; esac; fi; exit $code"
    )
    return shell(script, folder, *names)


def write_file(path: str, is_shared: bool = False) -> Command:
    """Standard input becomes the file, whole or not at all, readable by its owner only unless a
    container of another user has to read it."""
    script = 'umask "$2"; cat > "$1.part" && mv -f -- "$1.part" "$1"'
    return shell(script, path, "022" if is_shared else "077")
