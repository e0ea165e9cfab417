#!/usr/bin/env bash
# The scale tests run sshd processes of their own on loopback. Root gets Debian's server, not started; anyone
# else gets the command to run.
set -euo pipefail
PATH=$PATH:/usr/sbin
command -v sshd >/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "scale: an sshd is needed: sudo apt-get install openssh-server" >&2
    exit 1
fi
echo "scale: installing Debian's openssh-server; it is not started" >&2
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
"$(dirname "$0")/apt-install.sh" openssh-server
