#!/usr/bin/env bash
# Images of ours on this machine's engine: doc-hvd:base and doc-hvd:cpu, or the targets that are named.
# Unchanged layers come from the engine's cache.
set -euo pipefail
"$(dirname "$0")/bootstrap.sh"
stamp=$(cd "$(dirname "$0")/../.." && find images hvdocker/protocol -type f -not -path '*__pycache__*' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
mkdir -p .cache
[ $# -gt 0 ] || set -- base cpu
for target; do
    id=$(docker image inspect --format '{{.Id}}' "doc-hvd:$target" 2>/dev/null || true)
    if [ -n "$id" ] && [ "$(cat ".cache/image-$target" 2>/dev/null)" = "$stamp $id" ]; then
        echo "images: doc-hvd:$target is up to date" >&2
        continue
    fi
    echo "images: building doc-hvd:$target (the first time takes minutes)" >&2
    started=$SECONDS
    if ! hvdocker image build --target "$target" >.cache/build.log 2>&1; then
        tail -n 30 .cache/build.log >&2
        exit 1
    fi
    echo "images: doc-hvd:$target built in $((SECONDS - started)) s" >&2
    echo "$stamp $(docker image inspect --format '{{.Id}}' "doc-hvd:$target")" >".cache/image-$target"
done
docker image prune --force --filter label=hvdocker.image >/dev/null
