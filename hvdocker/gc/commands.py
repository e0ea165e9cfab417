"""The script that lists leftovers on a host, and its parser. It lists run folders (cluster folders that `run`
made) and stale feeds (folders of image transfers between hosts). It only reads. Pure."""

from __future__ import annotations

import re

from hvdocker import names
from hvdocker.gc.leftovers import RunFolder
from hvdocker.images.fan_out.commands import STALE_FEEDS
from hvdocker.observe.probe import read_probe
from hvdocker.shell.command import Command, shell

_SCRIPT = (
    r"""
host=$1; folder=$2; nl='
'
if cd -P ~ 2>/dev/null; then home=$PWD; else home=$HOME; fi
for dir in "$home"/.hvdocker/*/; do
    dir=${dir%/}
    # Where homes are shared, a host's folder lies one level deeper, under its name.
    for mark in "$dir/"""
    + names.RUN_MARKS_FOLDER
    + r""""/* "$dir/$host/"""
    + names.RUN_MARKS_FOLDER
    + r""""/*; do
        case $mark in *"$nl"*) continue;; esac
        [ -d "$mark" ] && printf '%s\n' "run ${dir##*/} ${mark##*/}"
    done
done
"""
    + STALE_FEEDS
    + r"""
stale_feeds "$folder" | while read -r feed; do printf '%s\n' "feed $feed"; done
echo "done"
"""
)


def list_leftovers(host: str) -> Command:
    """Return the command that lists leftovers on the host. `host` is the host's name in the inventory.

    It prints `run CLUSTER MARK` lines, where MARK is `TOKEN@OWNER` of a `hvdocker run`, then `feed PATH` lines for
    stale folders of image transfers, and at the end `done`."""
    return shell(_SCRIPT, host, "/var/tmp")


def read_leftovers(text: str) -> tuple[tuple[RunFolder, ...], tuple[str, ...]] | None:
    """Parse the output of `list_leftovers`. Return the run folders, and the paths of stale feeds (folders of image
    transfers between hosts).

    Return None if the script did not run to its end."""
    answer = read_probe(text)
    if not answer.is_complete:
        return None
    found = [_folder(line) for line in answer.all("run")]
    return tuple(folder for folder in found if folder), tuple(answer.all("feed"))


def _folder(line: str) -> RunFolder | None:
    """Parse the text `CLUSTER MARK` of a `run` line.

    Return None if these names cannot come from hvdocker, so that the folder is left alone."""
    cluster, _, mark = line.partition(" ")
    token, owner = names.read_run_mark(mark)
    is_ours = not names.cluster_name_problem(cluster) and re.fullmatch(r"[0-9a-f]+", token)
    return RunFolder(cluster, token, owner) if is_ours else None
