#!/usr/bin/env bash
# Fashion-MNIST for the examples, in .cache/fashion-mnist. It comes from a package of Debian's: root gets it installed;
# anyone else gets it downloaded and unpacked there. Running it again is free.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
package=dataset-fashion-mnist
target=$here/.cache/fashion-mnist
[ -f "$target/.ready" ] && exit 0
if [ ! -d /usr/share/datasets/fashion-mnist ]; then
    if ! command -v apt-get >/dev/null; then
        echo "data: put the four files of Fashion-MNIST (train- and t10k-…-ubyte.gz) into $target, then: touch $target/.ready" >&2
        exit 1
    fi
    echo "data: getting Debian's package $package" >&2
    if [ "$(id -u)" -eq 0 ]; then
        "$here/tests/setup/apt-install.sh" "$package"
    fi
fi
"${PYTHON:-python3}" "$here/examples/torch/prepare.py" "$target" >/dev/null
touch "$target/.ready"
