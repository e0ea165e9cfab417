"""The environment of a rank's command. A rank on another host starts in an ssh session, which has neither the variables
of Docker's `-e` nor the ENV of the image. The launcher cannot pass these variables on, because it may write its
environment on command lines. So each container saves its environment when it starts, and the rank wrapper restores it.
Pure, except for `read_image_env`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hvdocker.protocol import paths, variables
from hvdocker.protocol.job_file import Job
from inside.launchers.launcher import Launcher, RankIdentity

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NO_DEVICES = ("", "-1", "none", "NoDevFiles")
# Variables that a login or the launcher adds and that are never meant for the command.
SESSION_ONLY = (variables.GRACE_S, variables.OUTPUT_SOCKET, "MAIL", "OLDPWD", "SHLVL", "_")
# The supervisor sets these for the launcher only; a value of the image takes precedence.
IMAGE_WINS = ("PATH", "LANG", "LC_ALL", "PYTHONUNBUFFERED", "TF_CPP_MIN_LOG_LEVEL")


def read_image_env(path: Path = paths.IMAGE_ENV) -> dict[str, str]:
    """Return the environment that the container was started with, which its entrypoint saved to image.env (`path`).
    Empty if it was not saved."""
    try:
        return parse_image_env(path.read_bytes())
    except FileNotFoundError:
        return {}


def parse_image_env(data: bytes) -> dict[str, str]:
    """Return the variables in `data`, the content of image.env: NAME=value pairs, each ended by a NUL."""
    pairs = (item.decode("utf-8", "surrogateescape").partition("=") for item in data.split(b"\0") if item)
    return {name: value for name, _, value in pairs}


@dataclass(frozen=True)
class RankPlace:
    """Where a rank runs: its launcher, its numbers (`identity`), and the network interface for training (None if it was
    not found)."""

    launcher: Launcher
    identity: RankIdentity
    interface: str | None


def rank_env(
    job: Job, place: RankPlace, image: Mapping[str, str], current: Mapping[str, str], run: Path = paths.RUN
) -> dict[str, str]:
    """Return the environment of a rank's command. `image` is the environment that the container was started with,
    `current` that of the rank wrapper, and `run` the folder /run/hvdocker.

    Each of these sources overrides those before it: `image`; `current`, except for IMAGE_WINS, whose values come from
    `image`; the launcher's `rank_env`, except for variables that `image` sets; the job's own variables (`env:` of the
    inventory and `--env`); the GPUs (`device_env`); the numbers of the rank (`number_env`); the launcher's
    `master_env`; the names of job, host and folders (`identity_env`)."""
    env = {**image, **{name: value for name, value in current.items() if not is_session_only(name)}}
    env.update({name: image[name] for name in IMAGE_WINS if name in image})
    env.setdefault("PYTHONUNBUFFERED", "1")
    own = place.launcher.rank_env(place.identity, job, place.interface)
    env.update({name: image.get(name, value) for name, value in own.items()})
    env.update(job.env)
    env.update(device_env(job, place.identity.local_rank, place.launcher.separates_devices))
    env.update(number_env(job, place.identity))
    env.update(place.launcher.master_env(current))
    env.update(identity_env(job, run))
    env[variables.RESTART] = current.get(variables.RESTART, "0")
    env["HVDOCKER_STACKS"] = str(paths.stacks_folder(job.name, place.identity.rank, run))
    return env


def number_env(job: Job, identity: RankIdentity) -> dict[str, str]:
    """Return variables that the ranks of every launcher have: the numbers of the rank, and the address and port at
    which rank 0 listens."""
    node_rank = node_rank_of(job) if identity.node_rank < 0 else identity.node_rank
    numbers = (identity.rank, identity.size, identity.local_rank, identity.local_size, node_rank, node_rank)
    own = (identity.rank, identity.size, identity.local_rank)
    return {
        **{name: str(number) for name, number in zip(variables.NUMBERS, numbers, strict=True)},
        **{name: str(number) for name, number in zip(variables.OWN_NUMBERS, own, strict=True)},
        **dict(zip(variables.MASTER, (job.head_address, str(job.master_port)), strict=True)),
    }


def node_rank_of(job: Job) -> int:
    """Return the position of this host among the hosts of the job. The head has position 0."""
    return [job_host.name for job_host in job.hosts].index(job.host)


def device_env(job: Job, local_rank: int, is_separate: bool = False) -> dict[str, str]:
    """Return CUDA_VISIBLE_DEVICES with the job's GPUs on this host in local-rank order, because the container may have
    more GPUs. A rank gets only its own GPU, chosen by `local_rank` (its number among the ranks of this host), in two
    cases. The first is `is_separate`: the ranks run independently, and each would take the first GPU that it sees. The
    second is that the GPUs are MIG slices: a process can use only one.

    The result is empty if the job has no GPUs on this host, or if the user's `env:` or `--env` gives
    CUDA_VISIBLE_DEVICES a value that hides all GPUs. Any other value of the user is replaced."""
    if not job.devices or job.env.get(VISIBLE_DEVICES) in NO_DEVICES:
        return {}
    if is_separate or any(device.startswith("MIG-") for device in job.devices):
        return {VISIBLE_DEVICES: job.devices[local_rank % len(job.devices)]}
    return {VISIBLE_DEVICES: ",".join(job.devices)}


def is_session_only(name: str) -> bool:
    """Return whether the variable `name` belongs only to the ssh session, or to the launcher that started the rank. The
    command must not get such a variable."""
    return name in SESSION_ONLY or name.startswith("SSH_")


def identity_env(job: Job, run: Path) -> dict[str, str]:
    """Return the variables that tell a rank its job, host and folders. `run` is the folder /run/hvdocker. If a job has
    lost its master, the verb `stop` uses HVDOCKER_JOB to recognize the job's ranks. A recorded process id is not
    enough, because it may belong to another process by then."""
    secrets = {"HVDOCKER_SECRETS": str(paths.secrets_folder(job.name, run))} if job.secrets else {}
    return {
        **secrets,
        variables.JOB: job.name,
        "HVDOCKER_CLUSTER": job.cluster,
        "HVDOCKER_HOST": job.host,
        "HVDOCKER_ADDRESS": job.address,
        "HVDOCKER_OUTPUT_DIR": str(paths.output_folder(job.name, run)),
        "PWD": job.workdir,
    }


def launcher_env(image: Mapping[str, str], grace_s: float, restart: int = 0) -> dict[str, str]:
    """Return the environment of the launcher. It is as small as possible, because a launcher may write all of it on
    remote command lines. `image` is the environment that the container was started with. HVDOCKER_GRACE_S is the number
    of seconds that a launcher leaves ranks on its own host between SIGTERM and SIGKILL: the job's `grace_s` and two
    more. HVDOCKER_RESTART is `restart`: how often the job was restarted before. Ranks inherit HVDOCKER_RESTART."""
    env = {name: image[name] for name in ("PATH", "HOME", "TF_CPP_MIN_LOG_LEVEL") if name in image}
    env.update(LANG="C.UTF-8", LC_ALL="C.UTF-8", PYTHONUNBUFFERED="1")
    env.update({variables.GRACE_S: f"{grace_s + 2:g}", variables.RESTART: str(restart)})
    return env
