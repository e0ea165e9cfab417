"""The command that lists what jobs left in the code folder of a host. Pure."""

from __future__ import annotations

from hvdocker.shell.command import Command, shell
from hvdocker.shell.host_folders import CACHE_NAMES, OPEN_OWN, REPLACED_FOLDER

# The same format as the listing in the index of a sync, so that the two can be compared as text.
_STAT = "-exec stat -c //%f/%s/%y/%z/%n {} + 2>/dev/null"
_SKIP_CACHES = "\\( " + " -o ".join(f"-name '{name}'" for name in CACHE_NAMES) + " \\) -prune -o "
_FILES = f"\\( -type f -o -type l \\) {_STAT}"
_CLOSED = '-type d -exec sh -c \'for dir do [ -r "$dir" ] && [ -x "$dir" ] || printf "%s\\000" "$dir"; done\' sh {} +'
_LIST = (
    'TZ=UTC0; export TZ; [ -d "$1" ] || exit 0; cd -- "$1" || exit 1; '
    f"{OPEN_OWN}"
    f"open_own 500 code {REPLACED_FOLDER}; "
    "{ cat code.sync/index 2>/dev/null; printf '\\000'; cat code.sync/pending 2>/dev/null; printf '\\000'; "
    f"(cd code 2>/dev/null && find . {_SKIP_CACHES}{_FILES}); printf '\\000'; "
    f"(cd {REPLACED_FOLDER} 2>/dev/null && find . {_FILES}); printf '\\000'; "
    f"(cd jobs 2>/dev/null && find . -mindepth 2 -maxdepth 2 ! -path './.*' {_STAT}; "
    f"find ./*/logs -mindepth 1 -maxdepth 1 {_STAT}); printf '\\000'; "
    f"find code {_SKIP_CACHES}{_CLOSED} 2>/dev/null; printf done; }} | gzip -1"
)


def list_code(cluster_dir: str) -> Command:
    """Return the command that lists the files in the code folder of a host. It compresses the answer with gzip;
    `parse_code` parses the decompressed answer. `cluster_dir` is the cluster's folder on the host.

    The answer has sections that end with a NUL byte: the index of the last sync, the rows of interrupted syncs, the
    files in the code folder, the files that syncs replaced, and the files of each job. Then follow the folders that
    cannot be read, and the word `done`. Caches are left out. The answer is empty if there is no such cluster."""
    return shell(_LIST, cluster_dir)
