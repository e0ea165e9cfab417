"""The trial container: its specification, the script that runs in it, and the parser of its output. Pure.

The doctor starts it to find out what ranks will find (limits, versions) and whether containers start with GPUs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hvdocker import names
from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.doctor.facts.facts import InsideSeen
from hvdocker.engine.container_spec import ALL_DEVICES, ContainerSpec, create_body
from hvdocker.inventory.inventory import Inventory
from hvdocker.launchers import LAUNCHERS
from hvdocker.names import Maker
from hvdocker.placement.host_plan import HostPlan
from hvdocker.shell.command import Command

LIFETIME_S = 30
# Versions are read from package metadata, because importing TensorFlow takes seconds.
_INSIDE_SCRIPT = r"""
import glob, importlib.metadata as m, importlib.util as u, json, os, re, resource, sys
top = sys.argv[1] if len(sys.argv) > 1 else ""
found = {"python": "%d.%d.%d" % sys.version_info[:3]}
for name in @PACKAGES@ + ["keras", "numpy"]:
    for record in {
        "tensorflow": ["tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-rocm"],
        "keras": ["tf-keras", "keras"],
        "nccl": ["nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"],
    }.get(name, [name]):
        try:
            found[name] = m.version(record); break
        except m.PackageNotFoundError:
            pass
if "nccl" not in found:
    places = ["/usr/lib/*", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda*/lib64",
              sys.prefix + "/lib", "/opt/conda/lib"]
    for path in sum((sorted(glob.glob(top + place + "/libnccl.so.*")) for place in places), []):
        version = os.path.realpath(path).partition(".so.")[2]
        if "." in version:
            found["nccl"] = version; break
cuda = os.environ.get("CUDA_VERSION") or os.environ.get("NV_CUDA_LIB_VERSION")
try:
    spec = u.find_spec("tensorflow")
    path = os.path.join(os.path.dirname(spec.origin), "python", "platform", "build_info.py")
    built = re.search(r"['\"]cuda_version['\"]\s*[:,]\s*['\"]([0-9.]+)", open(path).read())
    cuda = cuda or (built and built.group(1))
except Exception:
    pass
def limit(kind):
    soft = resource.getrlimit(kind)[0]
    return None if soft == resource.RLIM_INFINITY else soft
shm = os.statvfs("/dev/shm")
print("hvdocker-inside " + json.dumps({
    "versions": found, "cuda": cuda or None, "shm": shm.f_blocks * shm.f_frsize,
    "memlock": limit(resource.RLIMIT_MEMLOCK), "files": limit(resource.RLIMIT_NOFILE),
}))
"""
_PACKAGES = json.dumps(list(dict.fromkeys(package for launcher in LAUNCHERS for package in launcher.packages)))
_MARK = re.compile(r"^hvdocker-inside (\{.*\})$", re.MULTILINE)


def trial_spec(
    inventory: Inventory, place: HostPlan, maker: Maker, image: str, token: str, has_gpus: bool
) -> ContainerSpec:
    """Return the specification of the trial container, which runs `image` (a tag or id).

    In everything that is examined it is like the worker. It has no network, mounts or memory limit, so that it cannot
    disturb anything. With `has_gpus` it gets all GPUs of the host, otherwise none. Its role label lets `down` find a
    trial container that was left behind. `token` makes the name unique. `place` is the host's plan, and `maker` has the
    owner and version for the labels."""
    like = worker_spec(inventory, place, maker)
    kept = (names.LABEL_CLUSTER, names.LABEL_HOST, names.LABEL_OWNER, names.LABEL_VERSION)
    labels = {key: value for key, value in like.labels.items() if key in kept}
    return replace(
        like,
        name=names.trial_container_name(inventory.cluster, token),
        image=image,
        command=("sleep", str(LIFETIME_S)),
        network="none",
        address=None,
        binds=(),
        labels={**labels, names.LABEL_ROLE: names.ROLE_DOCTOR},
        devices=ALL_DEVICES if has_gpus else (),
        memory_bytes=None,
        restart="no",
        stop_timeout_s=0,
    )


def trial_body(spec: ContainerSpec) -> dict[str, Any]:
    """Return the request with which the engine creates the trial container.

    The container ends after LIFETIME_S, and its engine then removes it. Values are `Any` because they become JSON."""
    body = create_body(spec, {})
    body["Entrypoint"], body["Cmd"] = [spec.command[0]], list(spec.command[1:])
    body["HostConfig"]["AutoRemove"] = True
    body["HostConfig"]["CapAdd"] = []
    return body


def look_inside(top: str = "") -> Command:
    """Return the command that runs inside the trial container. `read_inside` parses its output.

    `top` is a prefix for the library folders, which only tests use."""
    return Command(("python3", "-c", _INSIDE_SCRIPT.replace("@PACKAGES@", _PACKAGES), *([top] if top else [])))


def manual_command(image: str, has_gpus: bool) -> str:
    """Return a `docker run` command with which the user can repeat the trial.

    It starts a container of the image, with all GPUs if `has_gpus`."""
    gpus = ("--gpus", "all") if has_gpus else ()
    return Command(("docker", "run", "--rm", "--network", "none", *gpus, "--entrypoint", "true", image)).line()


def read_inside(said: str) -> InsideSeen | None:
    """Parse `said`, the output of the command from `look_inside`. Return None if the result line is missing."""
    found = _MARK.search(said)
    if not found:
        return None
    told: Mapping[str, Any] = json.loads(found[1])  # Any: parsed JSON
    return InsideSeen(
        versions=dict(told["versions"]),
        cuda=told["cuda"],
        shm_bytes=told["shm"],
        memlock_bytes=told["memlock"],
        open_files=told["files"],
    )
