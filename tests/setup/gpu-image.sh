#!/usr/bin/env bash
# doc-hvd:gpu on this machine's engine, and what is in it. No GPU and no container registry are needed.
set -euo pipefail
image=doc-hvd:gpu
free_kb=$(df --output=avail "$(docker info --format '{{.DockerRootDir}}')" 2>/dev/null | tail -n 1 || echo 0)
if ! docker image inspect "$image" >/dev/null 2>&1; then
    echo "gpu-image: CUDA's toolkit, its libraries, TensorFlow and a Horovod that is compiled here: 18 GB of disk" >&2
    if [ "$free_kb" -gt 0 ] && [ "$free_kb" -lt $((18 * 1024 * 1024)) ]; then
        echo "gpu-image: only $((free_kb / 1024 / 1024)) GB are free; docker system df shows what takes the rest" >&2
        exit 1
    fi
fi
started=$SECONDS
"$(dirname "$0")/images.sh" base gpu
took=$((SECONDS - started))
docker run --rm "$image" horovodrun --check-build 2>/dev/null
bytes=$(docker image inspect --format '{{.Size}}' "$image")
echo "gpu-image: $image, $((bytes / 1000000)) MB, in $took s"
