"""Finds kinds of Docker engines on which training fails: rootless engines, engines that map users, Docker from snap.
Pure.

`up` refuses them before it ships an image, and `doctor` reports them with the same words."""

from __future__ import annotations

from collections.abc import Collection

from hvdocker.errors import HostUnfit, HvdockerError

_SNAP_ROOT = "/var/snap/docker/"


def engine_kind_problem(security: Collection[str], root_dir: str) -> HvdockerError | None:
    """Return why containers cannot train on an engine of this kind, or None if they can.

    `security` are the names of the engine's security options, such as `rootless`. `root_dir` is the folder where it
    stores images. The error names no host; the caller adds the host."""
    if "rootless" in security:
        return HostUnfit(
            "its Docker engine is rootless: a worker on it could not be reached by other hosts",
            command="docker info --format '{{.SecurityOptions}}'",
            lines=["name=rootless: `--network host` means the engine's own network there, not that of the host"],
            fix="on the host: sudo systemctl enable --now docker && sudo usermod -aG docker $USER; "
            "and set no DOCKER_HOST for SSH logins",
        )
    if "userns" in security:
        return HostUnfit(
            "its Docker engine maps users (userns-remap), and so refuses `--network host`",
            command="docker info --format '{{.SecurityOptions}}'",
            lines=["name=userns: files that ranks write would belong to nobody on the host, too"],
            fix='remove "userns-remap" from /etc/docker/daemon.json and restart docker',
        )
    if root_dir.startswith(_SNAP_ROOT):
        return HostUnfit(
            "its Docker engine is a snap, which may not read hidden folders of homes such as ~/.hvdocker",
            command="docker info --format '{{.DockerRootDir}}'",
            lines=[f"DockerRootDir: {root_dir}"],
            fix="on the host: sudo snap disable docker && sudo apt-get install docker.io && "
            "sudo usermod -aG docker $USER",
        )
    return None
