"""The names that do not change: labels, containers, folders, job ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hvdocker.errors import UsageProblem

LABEL_CLUSTER = "hvdocker.cluster"
LABEL_HOST = "hvdocker.host"
LABEL_ROLE = "hvdocker.role"
LABEL_JOB = "hvdocker.job"
LABEL_OWNER = "hvdocker.owner"
LABEL_SPEC = "hvdocker.spec"
LABEL_GPUS = "hvdocker.gpus"
LABEL_VERSION = "hvdocker.version"
# Public halves only: they let any laptop rebuild known_hosts from labels alone.
LABEL_HOST_KEY = "hvdocker.hostkey"
LABEL_CLIENT_KEY = "hvdocker.clientkey"
LABEL_ADDRESS = "hvdocker.address"
LABEL_PORT = "hvdocker.port"
LABEL_SLOTS = "hvdocker.slots"
LABEL_PLACEMENT = "hvdocker.placement"
# On workers of a cluster that was asked for some slots only (`up -np 6`): the request, in words.
LABEL_ASKED = "hvdocker.asked"
# On a master: the names of its job's secrets, never a value.
LABEL_SECRETS = "hvdocker.secrets"
# On a master: what the person named (a script, a module, a command's first word), never its arguments.
LABEL_SCRIPT = "hvdocker.script"
# On the master of an elastic job: `min:max` ranks; max is empty where there is no bound.
LABEL_ELASTIC = "hvdocker.elastic"
# On a worker that was made while an elastic job ran: that job, which holds its slots for as long as it runs.
LABEL_JOINED = "hvdocker.joined"
# On such a worker: how many of its slots the job took; it has a most, and they may be fewer than all.
LABEL_SHARE = "hvdocker.share"
# On all containers that one `run` made: the token of the ticket by which its client gives signs of life.
LABEL_RUN = "hvdocker.run"
LABEL_IMAGE = "hvdocker.image"
# On an image with a layer of requirements, and so on its containers: which, and on which image.
LABEL_REQUIREMENTS = "hvdocker.requirements"
LABEL_BASE = "hvdocker.base"

ROLE_WORKER = "worker"
ROLE_MASTER = "master"
ROLE_DOCTOR = "doctor"

DEFAULT_PORT = 12345
OWN_IMAGES = ("doc-hvd:base", "doc-hvd:cpu", "doc-hvd:gpu")
DEFAULT_IMAGE = "doc-hvd:cpu"
# The default where hosts have GPUs.
GPU_IMAGE = "doc-hvd:gpu"
# How the names of images begin that hvdocker itself made.
IMAGES_OF_OURS = ("doc-hvd:", "hvdocker-req:")
IMAGE_ENTRYPOINT = ("/opt/hvdocker/bin/entrypoint",)
IMAGE_COMMAND = ("/bin/bash",)

IN_CONTAINER = "/run/hvdocker"
CODE_MOUNT = "/train"
JOBS_MOUNT = f"{IN_CONTAINER}/jobs"
SECRETS = f"{IN_CONTAINER}/secrets"

RUN_MARKS = "run"

CLUSTER_PATTERN = r"[a-z0-9][a-z0-9_.-]{0,62}"
CLUSTER_SHOULD = "should be lower-case letters, digits, '-', '_' or '.', starting with a letter or digit"
_PLAIN = re.compile(r"[^./\x00-\x1f\x7f-\x9f][^/\x00-\x1f\x7f-\x9f]{0,200}")
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def cluster_name_problem(name: str) -> str | None:
    return None if re.fullmatch(CLUSTER_PATTERN, name) else CLUSTER_SHOULD


def as_cluster_name(text: str) -> str:
    """A folder's name, bent into a cluster's name."""
    return re.sub(r"[^a-z0-9_.-]+", "-", text.lower()).strip("-_.")[:63] or "cluster"


def run_cluster(cluster: str, entropy: bytes) -> str:
    """`<cluster>-<4 base32 characters>`: a cluster of its own for one `run`."""
    return f"{cluster[:58]}-{_base32(entropy)}"


def run_mark(folder: str, token: str, owner: str) -> str:
    """An empty folder in that of a run's cluster, which says so where no container is left to say it."""
    return f"{folder}/{RUN_MARKS}/{token}@{quote(owner, safe='')}"


def read_run_mark(name: str) -> tuple[str, str]:
    """Token and owner."""
    token, _, owner = name.partition("@")
    return token, unquote(owner)


def worker_name(cluster: str, shared_engine_host: str | None = None) -> str:
    base = f"hvdocker-{cluster}-worker"
    return f"{base}-{shared_engine_host}" if shared_engine_host else base


def master_name(cluster: str, job: str) -> str:
    return f"hvdocker-{cluster}-{job}"


def doctor_name(cluster: str) -> str:
    return f"hvdocker-{cluster}-doctor"


def network_name(cluster: str) -> str:
    return f"hvdocker-{cluster}"


def requirements_image(key: str) -> str:
    return f"hvdocker-req:{key}"


def trial_name(cluster: str, token: str) -> str:
    return f"hvdocker-{cluster}-doctor-{token}"


def cluster_dir(home: str, cluster: str, shared_home_host: str | None = None) -> str:
    base = f"{home.rstrip('/')}/.hvdocker/{cluster}"
    return f"{base}/{shared_home_host}" if shared_home_host else base


def job_id(script: str, entropy: bytes) -> str:
    """`<script>-<4 base32 characters>`; the script's part is kept short and container-safe."""
    stem = re.sub(r"[^a-z0-9]+", "-", script.lower()).strip("-")[:24].strip("-") or "job"
    return f"{stem}-{_base32(entropy)}"


def _base32(entropy: bytes) -> str:
    return "".join(_BASE32[byte % 32] for byte in entropy[:4])


def is_plain(name: str) -> bool:
    """Hosts tell us of jobs, and jobs become folders here: nothing that is a path may."""
    return bool(_PLAIN.fullmatch(name))


def match_job(wanted: str | None, newest_first: list[str]) -> str:
    """The job that a unique prefix names; the newest when none is named."""
    if not newest_first:
        raise UsageProblem("this cluster has no jobs yet", fix="start one: hvdocker train train.py -np 2")
    if wanted is None:
        return newest_first[0]
    if wanted in newest_first:
        return wanted
    hits = [job for job in newest_first if job.startswith(wanted)]
    if len(hits) == 1:
        return hits[0]
    known = ", ".join(hits or newest_first)
    what = f"{wanted!r} matches several jobs" if hits else f"there is no job {wanted!r}"
    raise UsageProblem(what, lines=[f"jobs: {known}"], fix="name one of these")


@dataclass(frozen=True)
class Maker:
    """Who makes containers, with which version, for which `run`: written on labels, never compared."""

    owner: str
    version: str
    run: str = ""
