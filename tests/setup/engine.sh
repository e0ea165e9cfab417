#!/usr/bin/env bash
# Makes sure that a Docker engine answers on this machine. Where none does: root gets Debian's
# engine, started in the background; anyone else gets the commands to run. Running it again is free.
set -euo pipefail

say() { printf 'engine: %s\n' "$*" >&2; }

answers() { docker version --format '{{.Server.Version}}' 2>/dev/null; }

if version=$(answers); then
    say "Docker $version answers"
    exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
    cat >&2 <<'TXT'
engine: no Docker engine answers, and only root can start one. Run these, then try again:
    sudo apt-get update && sudo apt-get install -y --no-install-recommends docker.io iptables
    sudo systemctl enable --now docker
    sudo usermod -aG docker "$USER" && newgrp docker
TXT
    exit 1
fi

if ! command -v dockerd >/dev/null || ! command -v iptables >/dev/null; then
    say "installing Debian's docker.io and iptables"
    "$(dirname "$0")/apt-install.sh" docker.io iptables
    version=$(answers) && { say "Docker $version answers"; exit 0; }
fi

# An engine that was killed leaves its pid files behind, and they stop the next one.
for pid_file in /var/run/docker.pid /var/run/docker/containerd/containerd.pid; do
    if [ -f "$pid_file" ] && ! kill -0 "$(cat "$pid_file")" 2>/dev/null; then
        rm -f "$pid_file"
    fi
done

log=/var/log/hvdocker-dockerd.log
say "starting dockerd in the background (log: $log)"
setsid nohup dockerd >>"$log" 2>&1 </dev/null &
started=$!

deadline=$((SECONDS + 90))
until version=$(answers); do
    if ! kill -0 "$started" 2>/dev/null || [ "$SECONDS" -ge "$deadline" ]; then
        say "dockerd did not come up; its last lines:"
        tail -n 20 "$log" >&2
        exit 1
    fi
    sleep 0.3
done
say "Docker $version answers"
