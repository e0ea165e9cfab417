#!/usr/bin/env bash
# mmdebstrap makes Debian base images where no container registry answers. Root gets it installed.
set -euo pipefail
command -v mmdebstrap >/dev/null && exit 0
docker image inspect hvdocker/debian:bookworm hvdocker/debian:trixie >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "images: where no registry answers, mmdebstrap is needed: sudo apt-get install mmdebstrap" >&2
    exit 0
fi
echo "images: installing mmdebstrap, which makes base images where no registry answers" >&2
"$(dirname "$0")/apt-install.sh" mmdebstrap
