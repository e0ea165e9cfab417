#!/usr/bin/env bash
# Unit tests with the lowest and the newest allowed version of every dependency: bounds.sh UV [PYTHON…]. Each Python of
# 3.10 to 3.13 that this machine has gets the newest, the oldest of them also the lowest. What is missing is named.
# Tests of the programs in the image are left out: those use Python's standard library only.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
uv=$1
shift
[ $# -gt 0 ] || set -- 3.10 3.11 3.12 3.13
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

find_python() { # pyenv's commands in PATH may stand for versions that are not switched on
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        "$candidate" -c '' 2>/dev/null && command -v "$candidate" && return
    done
}

run() { # run PYTHON lowest-direct|highest
    local venv="$scratch/$2" pins="$scratch/$2.txt"
    rm -rf "$venv"
    "$uv" venv --quiet --python "$1" "$venv"
    "$uv" pip compile --quiet --no-header --no-annotate --python "$1" --resolution "$2" "$here/pyproject.toml" -o "$pins" >/dev/null
    "$uv" pip install --quiet --python "$venv/bin/python" -c "$pins" -e "$here" build jsonschema pytest pytest-xdist
    echo "bounds: $("$venv/bin/python" -V), $2: $(tr '\n' ' ' <"$pins")" >&2
    (cd "$here" && HVDOCKER_STRICT=1 HVDOCKER_BIN="$venv/bin/hvdocker" "$venv/bin/python" -m pytest -n auto tests/unit \
        --ignore tests/unit/inside --ignore tests/unit/bench) || failed="$failed $("$venv/bin/python" -V)/$2"
}

failed=
is_oldest=1
for version; do
    python=$(find_python "$version") || true
    if [ -z "$python" ]; then
        echo "bounds: there is no Python $version here; not tried" >&2
        continue
    fi
    [ -z "$is_oldest" ] || run "$python" lowest-direct
    is_oldest=
    run "$python" highest
done
[ -z "$is_oldest" ] || { echo "bounds: none of these Pythons is here: $*" >&2; exit 1; }
[ -z "$failed" ] || { echo "bounds: failed with$failed" >&2; exit 1; }
