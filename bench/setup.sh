#!/usr/bin/env bash
# What ours is measured against, in a virtual environment of its own: setup.sh FOLDER PYTHON
set -euo pipefail
"$(dirname "$0")/../tests/setup/venv.sh" "$1" "$2" pyinfra matplotlib ansible-core
if ! command -v rsync > /dev/null; then
    if [ "$(id -u)" != 0 ]; then
        echo "bench: rsync is measured too and is missing: sudo apt-get install rsync" >&2
        exit 1
    fi
    echo "bench: installing rsync" >&2
    "$(dirname "$0")/../tests/setup/apt-install.sh" rsync
fi
