#!/usr/bin/env bash
# The main job on this machine alone: two workers on its own engine train on real digits.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
"$here/tests/setup/bootstrap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/hvdocker-XXXXXX")/demo
mkdir "$work"
cp -r "$here/examples/mnist" "$work/mnist"
cd "$work"
say() { printf '\n\033[1m$ %s\033[0m\n' "$*" >&2; "$@"; }
trap 'hvdocker down -y --discard -q >/dev/null 2>&1 || true' EXIT

say "$here/.venv/bin/python" mnist/prepare.py
say hvdocker up --local 2
say hvdocker train mnist/train.py -np 2 -- --epochs 4 | tee train.log
say hvdocker fetch
say hvdocker down
trap - EXIT

accuracy=$(sed -n 's/.*accuracy \([0-9.]*\) on .*/\1/p' train.log)
model=$(find "$work/.hvdocker/jobs" -name model.keras)
[ -n "$accuracy" ] && [ -f "$model" ]
awk -v a="$accuracy" 'BEGIN { exit !(a > 0.9) }' || { echo "demo: accuracy $accuracy is not above 0.9" >&2; exit 1; }
printf '\nmodel     %s\naccuracy  %s on 1,000 digits that no worker trained on\n' "$model" "$accuracy"
