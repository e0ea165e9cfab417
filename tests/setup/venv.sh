#!/usr/bin/env bash
# A virtual environment with our package in it: venv.sh FOLDER PYTHON PIP-ARGUMENTS…
set -euo pipefail
folder=$1 python=$2
shift 2
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "venv: $python is missing or older than Python 3.10; say which: make PYTHON=python3.11 …" >&2
    exit 1
fi
if [ ! -x "$folder/bin/python" ]; then
    echo "venv: making $folder" >&2
    if ! "$python" -m venv "$folder"; then
        echo "venv: that failed; on Debian: sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi
echo "venv: installing ${*: -1} into $folder" >&2
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 2> >(grep -v '^WARNING: Location' >&2)
