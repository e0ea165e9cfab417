"""Privileges that let a lab host run its own engine: `--privileged`, or a list of capabilities.

`--privileged` requests every capability that the engine knows, and fails if the machine lacks one of them.
"""

from collections.abc import Callable
from typing import Any

import docker
import docker.errors

from tests.cluster.lab.image import LABEL
from tests.cluster.lab.state import LabState
from tests.cluster.lab.wait import LabError

CAPABILITIES = [
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "BLOCK_SUSPEND",
    "DAC_READ_SEARCH",
    "IPC_LOCK",
    "IPC_OWNER",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "NET_ADMIN",
    "NET_BROADCAST",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYSLOG",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
]

# Field names of the engine's API. An empty list of masked paths is the CLI's systempaths=unconfined.
MODES: dict[str, dict[str, Any]] = {
    "privileged": {"Privileged": True},
    "capabilities": {
        "CapAdd": CAPABILITIES,
        "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"],
        "MaskedPaths": [],
        "ReadonlyPaths": [],
        "DeviceCgroupRules": ["a *:* rwm"],
    },
}


def choose_mode(engine: docker.APIClient, image: str, state: LabState, say: Callable[[str], None]) -> str:
    """Return the mode that works on this machine. It is tried once, then stored in the lab's folder."""
    if (known := state.recall("mode")) in MODES:
        return str(known)
    problems: list[str] = []
    for mode, settings in MODES.items():
        if (problem := _try(engine, image, settings)) is None:
            say(f"hosts run in mode: {mode}")
            state.remember("mode", mode)
            return mode
        say(f"mode {mode} does not work here: {problem}")
        problems.append(f"{mode}: {problem}")
    raise LabError("no host can run here:\n" + "\n".join(problems))


def _try(engine: docker.APIClient, image: str, settings: dict[str, Any]) -> str | None:
    host_config = {**engine.create_host_config(network_mode="none"), **settings}
    made = engine.create_container(image, ["true"], host_config=host_config, labels={LABEL: "1"})
    try:
        engine.start(made["Id"])
        code = engine.wait(made["Id"])["StatusCode"]
        return None if code == 0 else f"`true` ended with {code}"
    except docker.errors.APIError as error:
        return str(error.explanation or error)
    finally:
        engine.remove_container(made["Id"], force=True, v=True)
