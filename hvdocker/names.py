"""Names that are stored on hosts: labels, images, containers, folders and job ids. Pure.

Every container of hvdocker has labels, and the verbs learn the state of a cluster from these labels. Do not change a
name in this file: existing containers keep the old name."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hvdocker.errors import UsageProblem

# All labels begin with this.
LABEL_PREFIX = "hvdocker."
# On every container. `host` is the name in the inventory of the user who created the container.
LABEL_CLUSTER = "hvdocker.cluster"
LABEL_HOST = "hvdocker.host"
# worker, master or doctor.
LABEL_ROLE = "hvdocker.role"
# On a master: the id of its job.
LABEL_JOB = "hvdocker.job"
LABEL_OWNER = "hvdocker.owner"
# The fingerprint of the container's specification.
LABEL_SPEC = "hvdocker.spec"
# The UUIDs of the container's GPUs, separated by commas. On a worker they are the lease of its cluster.
LABEL_GPUS = "hvdocker.gpus"
# The version of hvdocker that created the container.
LABEL_VERSION = "hvdocker.version"
# Public keys only: with them any controller can rebuild known_hosts from labels alone.
LABEL_HOST_KEY = "hvdocker.hostkey"
LABEL_CLIENT_KEY = "hvdocker.clientkey"
# On a worker: the training address and port of its sshd, and its number of slots.
LABEL_ADDRESS = "hvdocker.address"
LABEL_PORT = "hvdocker.port"
LABEL_SLOTS = "hvdocker.slots"
# On a master, as JSON: `{host: [GPU UUIDs]}`, or a number of processor slots instead of the list.
LABEL_PLACEMENT = "hvdocker.placement"
# On workers of a cluster that was created for a number of slots (`up -np 6`): the request, as text.
LABEL_ASKED = "hvdocker.asked"
# On a master: the names of its job's secrets, never a value.
LABEL_SECRETS = "hvdocker.secrets"
# On a master: the script, the module or the first word of the command, never its arguments.
LABEL_SCRIPT = "hvdocker.script"
# On the master of an elastic job: `min:max` ranks; max is empty if there is no limit.
LABEL_ELASTIC = "hvdocker.elastic"
# On a worker that joined a running elastic job: the id of the job. The job holds the worker's slots while it runs.
LABEL_JOINED = "hvdocker.joined"
# On a worker that joined a job: how many of its slots the job uses. --max-np can make that fewer than all.
LABEL_SHARE = "hvdocker.share"
# On all containers of one `run`: the token of the ticket that shows that its controller is alive.
LABEL_RUN = "hvdocker.run"
# On workers of a cluster that was brought up with `up --image`: the name of that image. It applies instead of the
# inventory's as long as such a worker exists.
LABEL_IMAGE_NAME = "hvdocker.imagename"
# On a master: the number of ranks, if it differs from the number of slots (a pool of independent ranks).
LABEL_RANKS = "hvdocker.ranks"
# On a master: the block of ports that its job may use on all its hosts, as `first:count`.
LABEL_MASTER_PORT = "hvdocker.masterport"
# On images that hvdocker makes.
LABEL_IMAGE = "hvdocker.image"
# On images, and so on their containers: the format of job.json and the other messages that the image speaks, its
# default launcher, and the versions of its frameworks (`torch=2.13.0,numpy=2.1.0`). On a master, the launcher is
# that of its job.
LABEL_FORMAT = "hvdocker.format"
LABEL_LAUNCHER = "hvdocker.launcher"
LABEL_FRAMEWORKS = "hvdocker.frameworks"
# On an image with a requirements layer: the key of the requirements, and the content hash of the image below the
# layer. Containers inherit both labels from their image.
LABEL_REQUIREMENTS = "hvdocker.requirements"
LABEL_BASE = "hvdocker.base"

ROLE_WORKER = "worker"
ROLE_MASTER = "master"
ROLE_DOCTOR = "doctor"

DEFAULT_PORT = 12345
# The short names of our images, and their tags. Clusters that exist use the tags, so these stay: `tensorflow-cpu` and
# `tensorflow` are newer names of the images cpu and gpu.
SHORT_IMAGE_NAMES = {
    "base": "doc-hvd:base",
    "tensorflow-cpu": "doc-hvd:cpu",
    "cpu": "doc-hvd:cpu",
    "tensorflow": "doc-hvd:gpu",
    "gpu": "doc-hvd:gpu",
    "torch": "doc-hvd:torch",
    "torch-cpu": "doc-hvd:torch-cpu",
}
OWN_IMAGES = tuple(dict.fromkeys(SHORT_IMAGE_NAMES.values()))
DEFAULT_IMAGE = "doc-hvd:cpu"
# The default image if hosts have GPUs.
GPU_IMAGE = "doc-hvd:gpu"
# Prefixes of the names of images that hvdocker makes.
OWN_IMAGE_PREFIXES = ("doc-hvd:", "hvdocker-req:")
IMAGE_ENTRYPOINT = ("/opt/hvdocker/bin/entrypoint",)
IMAGE_COMMAND = ("/bin/bash",)

CONTAINER_FOLDER = "/run/hvdocker"
CODE_MOUNT = "/train"
JOBS_MOUNT = f"{CONTAINER_FOLDER}/jobs"
SECRETS_FOLDER = f"{CONTAINER_FOLDER}/secrets"

RUN_MARKS_FOLDER = "run"

CLUSTER_NAME_PATTERN = r"[a-z0-9][a-z0-9_.-]{0,62}"
CLUSTER_NAME_RULE = "should be at most 63 lower-case letters, digits, '-', '_' or '.', starting with a letter or digit"
_SAFE_FILE_NAME = re.compile(r"[^./\x00-\x1f\x7f-\x9f][^/\x00-\x1f\x7f-\x9f]{0,200}")
# Characters of a script's name in the id of a job. Earlier versions took 24.
_MOST_STEM = 16
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def cluster_name_problem(name: str) -> str | None:
    """Return what is wrong with a cluster name, or None if it is valid.

    The text follows the name of the flag or key in a message (`should be …`)."""
    return None if re.fullmatch(CLUSTER_NAME_PATTERN, name) else CLUSTER_NAME_RULE


def as_cluster_name(text: str) -> str:
    """Turn any text, such as the name of a folder, into a valid cluster name.

    Runs of characters that are not allowed become `-`, and a long name is cut. If the text is in another script and has
    no Latin letter, a digest of the text is added (`cluster-1a2b3c4d`), so that two such folders get different
    names."""
    name = re.sub(r"[^a-z0-9_.-]+", "-", text.lower()).strip("-_.")[:63]
    if text.isascii() or re.search("[a-z]", name):
        return name or "cluster"
    # macOS stores Korean names decomposed: the same folder has one name on every controller.
    normal = unicodedata.normalize("NFC", text).encode("utf-8", "surrogateescape")
    return f"{name[:54] or 'cluster'}-{hashlib.sha256(normal).hexdigest()[:8]}"


def run_cluster(cluster: str, entropy: bytes) -> str:
    """Return the name of the cluster that one `hvdocker run` creates: `<cluster>-<4 base32 characters>`.

    `cluster` is the name in the inventory, `entropy` are at least 4 random bytes."""
    return f"{cluster[:58]}-{_base32(entropy)}"


def run_mark(folder: str, token: str, owner: str) -> str:
    """Return the path of a run mark: an empty folder `run/<token>@<owner>` in `folder`, the folder of a cluster on a
    host.

    The run mark shows which `hvdocker run` (identified by `token`) of which owner made the cluster. It is still there
    when no container with LABEL_RUN is left."""
    return f"{folder}/{RUN_MARKS_FOLDER}/{token}@{quote(owner, safe='')}"


def read_run_mark(name: str) -> tuple[str, str]:
    """Return the token and the owner from `<token>@<owner>`, the last part of the path of a run mark.

    The owner is empty if `name` has no `@`."""
    token, _, owner = name.partition("@")
    return token, unquote(owner)


def worker_name(cluster: str, shared_engine_host: str | None = None) -> str:
    """Return the container name of a worker.

    `shared_engine_host` is the name of the worker's host. It is given only if several workers run on one engine (a
    local cluster), and then becomes a part of the container name."""
    base = f"hvdocker-{cluster}-worker"
    return f"{base}-{shared_engine_host}" if shared_engine_host else base


def container_hostname(host: str) -> str:
    """Return the host name inside the containers on a host: `hvd-` and the host's name as a DNS label.

    A name that is not a valid label, or is too long, is changed and gets a digest."""
    label = re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-")
    digest = hashlib.sha256(host.encode()).hexdigest()[:8]
    # A name that has to be changed to be a label keeps its own identity by a digest.
    return f"hvd-{label}" if label == host and len(label) < 50 else f"hvd-{label[:40]}-{digest}".replace("--", "-")


def master_name(cluster: str, job: str) -> str:
    return f"hvdocker-{cluster}-{job}"


def doctor_name(cluster: str) -> str:
    return f"hvdocker-{cluster}-doctor"


def network_name(cluster: str) -> str:
    return f"hvdocker-{cluster}"


def image_tag(name: str) -> str:
    """Return the tag of an image that the user named, which may be a short name of one of hvdocker's own images.

    `torch` and `doc-hvd:torch` both become `doc-hvd:torch`, and `tensorflow-cpu` becomes `doc-hvd:cpu`. Other names are
    returned unchanged. If a user's own image has one of these short names, the user has to add a tag
    (`torch:latest`)."""
    return SHORT_IMAGE_NAMES.get(name.removeprefix("doc-hvd:"), name)


def requirements_image(key: str) -> str:
    return f"hvdocker-req:{key}"


def trial_container_name(cluster: str, token: str) -> str:
    return f"hvdocker-{cluster}-doctor-{token}"


def cluster_dir(home: str, cluster: str) -> str:
    """Return the folder of a cluster below `home`, the home folder of the SSH user.

    It contains one folder for each host, because hosts may share one home."""
    return f"{home.rstrip('/')}/.hvdocker/{cluster}"


def host_dir(home: str, cluster: str, host: str) -> str:
    """Return the folder of a cluster on a host. `home` is the home folder of the SSH user.

    The host's name is always a part of the path, because hosts may share one home. Whether they do cannot be found out
    from the type of the file system: NFS, GPFS, BeeGFS and virtiofs all differ."""
    return f"{cluster_dir(home, cluster)}/{host}"


def job_id(script: str, entropy: bytes) -> str:
    """Return the id of a new job, `<script>-<4 base32 characters>`, such as `mnist-4kq2`.

    The script's name is made valid for a container name. It is shortened to its first words, so that ids can be read
    and typed: finetune_llama_7b becomes `finetune-llama`. `entropy` are at least 4 random bytes."""
    stem = re.sub(r"[^a-z0-9]+", "-", script.lower()).strip("-")
    while len(stem) > _MOST_STEM and "-" in stem:
        stem = stem.rpartition("-")[0]
    return f"{stem[:_MOST_STEM] or 'job'}-{_base32(entropy)}"


def _base32(entropy: bytes) -> str:
    return "".join(_BASE32[byte % 32] for byte in entropy[:4])


def is_safe_file_name(name: str) -> bool:
    """Whether a name is safe as the name of a folder on the controller.

    It is safe if it has 1 to 201 characters, no slash, no control character and no leading dot. Names of jobs have to
    be checked because they come from hosts."""
    return bool(_SAFE_FILE_NAME.fullmatch(name))


def match_job(wanted: str | None, newest_first: list[str]) -> str:
    """Return the job whose id is `wanted` or begins with `wanted`. Return the newest job if `wanted` is None.
    `newest_first` are the ids of all jobs.

    Raise UsageProblem if there are no jobs, if no job matches, or if several begin with `wanted`."""
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
    """The facts about the creation of a container that its labels record.

    They are the owner, the version of hvdocker, and the token of the `hvdocker run` (empty for other verbs). The
    fingerprint of a container's specification does not include them."""

    owner: str
    version: str
    run: str = ""
