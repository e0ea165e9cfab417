"""Going into a folder of ours in /tmp, which is open to all (0777) and which anybody could have put there.

Scripts go into the folder and use names without a path: what lies at the path may be swapped by others, the
folder one stands in may not. A symbolic link or a file at that path is refused."""

from __future__ import annotations

# Wants $dir, $parent and a `tell STATE REASON` that ends the script; fails where there is no folder.
ENTER = r"""
enter() {
    cd -- "$parent" || exit 1
    if [ -L "$dir" ] || { [ -e "$dir" ] && [ ! -d "$dir" ]; }; then
        tell unusable "$dir is not a folder: $(ls -ld -- "$dir" 2>/dev/null)"
    fi
    if ! cd -- "$dir" 2>/dev/null; then
        [ -d "$dir" ] && tell unusable "you may not enter it: $(ls -ld -- "$dir" 2>/dev/null)"
        return 1
    fi
    # Nothing is said of a folder that was removed since.
    here=$(pwd -P 2>/dev/null); [ -n "$here" ] || return 1
    [ "$here" = "${parent%/}/${dir##*/}" ] || tell unusable "$dir leads to $here"
}
"""
