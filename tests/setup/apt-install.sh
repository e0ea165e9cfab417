#!/usr/bin/env bash
# Installs Debian packages as root. While another apt or dpkg runs, such as unattended upgrades, it waits up to five
# minutes.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
deadline=$((SECONDS + 300))
said=
until log=$({ apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } 2>&1); do
    if ! grep -qE 'Could not get lock|Unable to lock' <<<"$log" || [ "$SECONDS" -ge "$deadline" ]; then
        printf '%s\n' "$log" >&2
        exit 1
    fi
    [ -n "$said" ] || echo "apt: waiting for another apt or dpkg to end" >&2
    said=1
    sleep 2
done
