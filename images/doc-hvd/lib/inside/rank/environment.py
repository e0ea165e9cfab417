"""The environment of a rank. Neither Docker's `-e` nor an image's ENV reaches an ssh session, and
the launcher's own environment stands on command lines: so each container saves its environment when
it starts, and each rank is given it back."""

from collections.abc import Mapping
from pathlib import Path

from inside.protocol import paths
from inside.protocol.job import Job

VISIBLE = "CUDA_VISIBLE_DEVICES"
NO_DEVICES = ("", "-1", "none", "NoDevFiles")
# What a login or the launcher adds and an image never means.
SESSION_ONLY = ("HVDOCKER_GRACE_S", "MAIL", "OLDPWD", "SHLVL", "_")
# What the supervisor gives the launcher to run at all: the image's own value is better.
IMAGE_WINS = ("PATH", "LANG", "LC_ALL", "PYTHONUNBUFFERED", "TF_CPP_MIN_LOG_LEVEL")


def read_image_env(path: Path = paths.IMAGE_ENV) -> dict[str, str]:
    """The environment that the container was started with; empty if it was not saved."""
    try:
        return parse_image_env(path.read_bytes())
    except FileNotFoundError:
        return {}


def parse_image_env(data: bytes) -> dict[str, str]:
    """NAME=value pairs, each ended by a NUL."""
    pairs = (item.decode("utf-8", "surrogateescape").partition("=") for item in data.split(b"\0") if item)
    return {name: value for name, _, value in pairs}


def rank_env(
    job: Job,
    image: Mapping[str, str],
    current: Mapping[str, str],
    interface: str | None,
    run: Path = paths.RUN,
) -> dict[str, str]:
    """What the command of a rank sees: image, launcher, ours, and the job's own on top."""
    env = {**image, **{name: value for name, value in current.items() if not is_session_only(name)}}
    env.update({name: image[name] for name in IMAGE_WINS if name in image})
    env.setdefault("PYTHONUNBUFFERED", "1")
    if interface is not None:
        env.update(interface_env(interface, image))
    env.update(job.env)
    env.update(device_env(job, int(current.get("HOROVOD_LOCAL_RANK", "0"))))
    env.update(identity_env(job, run))
    env["HVDOCKER_RESTART"] = current.get("HVDOCKER_RESTART", "0")
    env["HVDOCKER_STACKS"] = str(paths.stacks_folder(job.name, rank_of(current), run))
    return env


def rank_of(current: Mapping[str, str]) -> int:
    """The number that the launcher gave this rank."""
    return int(current.get("HOROVOD_RANK", "0"))


def device_env(job: Job, local_rank: int) -> dict[str, str]:
    """The GPUs of this job on this host, in local-rank order: its containers may have more. A process can use
    one MIG slice only, so where there are slices a rank sees its own. Who hides them all may."""
    if not job.devices or job.env.get(VISIBLE) in NO_DEVICES:
        return {}
    if any(device.startswith("MIG-") for device in job.devices):
        return {VISIBLE: job.devices[local_rank % len(job.devices)]}
    return {VISIBLE: ",".join(job.devices)}


def is_session_only(name: str) -> bool:
    """Whether a variable tells only of the session that the rank was started through."""
    return name in SESSION_ONLY or name.startswith("SSH_")


def interface_env(interface: str, image: Mapping[str, str]) -> dict[str, str]:
    """The interface to train over, except where the container was told another."""
    ours = {
        "HOROVOD_GLOO_IFACE": interface,
        "GLOO_SOCKET_IFNAME": interface,
        # A bare name is a prefix to NCCL: eth1 would also take eth10.
        "NCCL_SOCKET_IFNAME": "=" + interface,
        # For images with Open MPI: messages, and the daemons' own talk.
        "OMPI_MCA_btl_tcp_if_include": interface,
        "OMPI_MCA_oob_tcp_if_include": interface,
    }
    return {name: image.get(name, value) for name, value in ours.items()}


def identity_env(job: Job, run: Path) -> dict[str, str]:
    """Who and where this rank is, and where its secrets are."""
    secrets = {"HVDOCKER_SECRETS": str(paths.secrets_folder(job.name, run))} if job.secrets else {}
    return {
        **secrets,
        "HVDOCKER_JOB": job.name,
        "HVDOCKER_CLUSTER": job.cluster,
        "HVDOCKER_HOST": job.host,
        "HVDOCKER_ADDRESS": job.address,
        "HVDOCKER_OUTPUT_DIR": str(paths.output_folder(job.name, run)),
        "PWD": job.workdir,
    }


def launcher_env(image: Mapping[str, str], grace_s: float, restart: int = 0) -> dict[str, str]:
    """The least that the launcher needs: it writes all of it on remote command lines. Ranks learn from it
    how often the job was run before."""
    env = {name: image[name] for name in ("PATH", "HOME", "TF_CPP_MIN_LOG_LEVEL") if name in image}
    env.update(LANG="C.UTF-8", LC_ALL="C.UTF-8", PYTHONUNBUFFERED="1", HVDOCKER_GRACE_S=f"{grace_s + 2:g}")
    env["HVDOCKER_RESTART"] = str(restart)
    return env
