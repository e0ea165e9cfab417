"""Shell function that enters a folder of hvdocker in /tmp. All users can write to this folder (0777). Pure.

Any user may have created the folder, and its owner can replace it at any time. So scripts first change into it and then
use file names without a path. Another folder at the same path then makes no difference, because the script stays in the
folder that it entered. A symbolic link or a file in place of the folder is refused."""

from __future__ import annotations

# Needs $dir, $parent and a function `tell STATE REASON` that ends the script. Returns 1 if there is no folder.
ENTER_FUNCTION = r"""
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
