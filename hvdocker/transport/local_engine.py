"""Finds the controller's own Docker engine, and opens a client for it.

The engine is chosen as the docker command chooses it: $DOCKER_HOST, else $DOCKER_CONTEXT, else the context that `docker
context use` made current, else the usual socket. An engine over SSH is not supported."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import APIClient
from docker.errors import DockerException
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.transport.docker_api import local_client

DEFAULT_SOCKET = "unix:///var/run/docker.sock"
_SCHEMES = ("unix", "http+unix", "tcp", "http", "https")
_HERE = "this machine"


@dataclass(frozen=True)
class EngineAddress:
    """The address of the controller's engine, as a Docker URL. `origin` is the setting that the URL comes from, such as
    `DOCKER_HOST` or `the docker context NAME`; it is empty for the default. `tls` has the certificates for a TCP
    connection, or None without TLS; it is `Any` because the SDK has no types."""

    url: str = DEFAULT_SOCKET
    origin: str = ""
    tls: Any = None


def engine_address(environ: Mapping[str, str], home: Path) -> EngineAddress:
    """Return the address of the controller's engine, as the docker command finds it: from DOCKER_HOST or DOCKER_CONTEXT
    in `environ`, or from the files in the folder that DOCKER_CONFIG names (by default `home`/.docker).

    Raise HostUnfit if the URL is of a kind that hvdocker cannot open (ssh://), or if the docker context names no
    engine. Raise the SDK's DockerException if the variables for TLS are wrong."""
    if url := environ.get("DOCKER_HOST"):
        found = EngineAddress(url, "DOCKER_HOST", kwargs_from_env(environment=environ).get("tls"))
    else:
        found = _address_of_context(environ, home)
    if "://" in found.url and found.url.partition("://")[0] not in _SCHEMES:
        raise HostUnfit(
            f"the Docker engine of this machine cannot be used: {found.origin} is {found.url}",
            host=_HERE,
            lines=["hvdocker opens unix:// and tcp:// here; a machine over SSH belongs into the inventory"],
            fix="for an engine on this machine: unset DOCKER_HOST; docker context use default",
        )
    return found


def _address_of_context(environ: Mapping[str, str], home: Path) -> EngineAddress:
    folder = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    name = environ.get("DOCKER_CONTEXT") or str(_json(folder / "config.json").get("currentContext") or "default")
    if name == "default":
        return EngineAddress()
    key = hashlib.sha256(name.encode()).hexdigest()
    endpoint = _json(folder / "contexts" / "meta" / key / "meta.json").get("Endpoints", {}).get("docker", {})
    if not endpoint.get("Host"):
        raise HostUnfit(
            f"the docker context {name} names no Docker engine",
            host=_HERE,
            command="docker context ls",
            lines=[f"it is chosen by DOCKER_CONTEXT or by {folder}/config.json"],
            fix="choose another one: docker context use default",
        )
    tls = _tls(folder / "contexts" / "tls" / key / "docker", bool(endpoint.get("SkipTLSVerify")))
    return EngineAddress(str(endpoint["Host"]), f"the docker context {name}", tls)


def _tls(folder: Path, is_unverified: bool) -> Any:  # Any: the SDK has no types
    ca, cert, key = (folder / f"{name}.pem" for name in ("ca", "cert", "key"))
    if not folder.is_dir():
        return None
    pair = (str(cert), str(key)) if cert.is_file() and key.is_file() else None
    return TLSConfig(client_cert=pair, ca_cert=str(ca) if ca.is_file() else None, verify=not is_unverified)


def _json(path: Path) -> dict[str, Any]:
    """Return the JSON object in `path`, a configuration file of the docker command. Return an empty object if the file
    is missing or has no JSON object. Values are `Any` because they come from parsed JSON."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def open_local_engine() -> APIClient:
    """Return a client of the controller's Docker engine. Raise HostUnfit if no engine answers, or if a setting that
    names the engine (such as DOCKER_HOST) is wrong."""
    try:
        address = engine_address(os.environ, Path.home())
    except DockerException as error:
        raise HostUnfit(
            "the Docker engine of this machine cannot be used",
            host=_HERE,
            lines=[str(error)],
            fix="see DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or unset DOCKER_HOST",
        ) from error
    try:
        return local_client(address.url, address.tls)
    except (DockerException, OSError) as error:
        raise _no_answer(address, error) from error


def _no_answer(address: EngineAddress, error: Exception) -> HostUnfit:
    is_denied = "permission denied" in str(error).lower()
    what = "you may not open this machine's Docker socket" if is_denied else "no Docker engine answers on this machine"
    fix = "install and start it: sudo apt-get install docker.io && sudo systemctl start docker"
    if is_denied:
        fix = "sudo usermod -aG docker $USER, then log in again"
    elif address.origin:
        what = f"no Docker engine answers at {address.url}, which {address.origin} names"
        fix = "start that engine, or choose another: unset DOCKER_HOST; docker context use default"
    return HostUnfit(what, host=_HERE, command="docker version", lines=[str(error)], fix=fix)


@dataclass(frozen=True)
class LocalEngine:
    """The result of `local_engine`. `client` is a client of the controller's engine, or None if it could not be opened.
    `problem` then says why."""

    client: APIClient | None
    problem: str = ""


def local_engine() -> LocalEngine:
    """Try to open the controller's Docker engine, and return the client in a LocalEngine. If no engine answers, raise
    nothing and return a LocalEngine without a client. Used by callers that can do without this engine."""
    try:
        return LocalEngine(open_local_engine())
    except HvdockerError as error:
        return LocalEngine(None, error.what)
