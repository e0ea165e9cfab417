"""What a rank and the launcher see in their environment."""

from dataclasses import replace

import pytest
from inside.launchers import named
from inside.rank.environment import RankPlace, launcher_env, parse_image_env, rank_env

from hvdocker.protocol.job_file import Job, JobHost, JobLauncher

JOB = Job(
    name="j",
    cluster="lab",
    host="b",
    hosts=(JobHost("a", "198.18.0.2", 1), JobHost("b", "198.18.0.3", 1)),
    command=("true",),
    workdir="/train",
    env={"MINE": "1"},
    launcher=JobLauncher("horovod"),
    grace_s=10,
)
OURS = {
    "HVDOCKER_JOB": "j",
    "HVDOCKER_CLUSTER": "lab",
    "HVDOCKER_HOST": "b",
    "HVDOCKER_ADDRESS": "198.18.0.3",
    "HVDOCKER_OUTPUT_DIR": "/run/hvdocker/jobs/j/out",
    "HVDOCKER_RESTART": "0",
    "HVDOCKER_STACKS": "/run/hvdocker/stacks/j/1",
    "PWD": "/train",
    "MINE": "1",
    "RANK": "1",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "NODE_RANK": "1",
    "GROUP_RANK": "1",
    "MASTER_ADDR": "198.18.0.2",
    "MASTER_PORT": "29500",
    "HVDOCKER_RANK": "1",
    "HVDOCKER_SIZE": "2",
    "HVDOCKER_LOCAL_RANK": "0",
}
NET9 = {
    "HOROVOD_GLOO_IFACE": "net9",
    "GLOO_SOCKET_IFNAME": "net9",
    "NCCL_SOCKET_IFNAME": "=net9",
    "OMPI_MCA_btl_tcp_if_include": "net9",
    "OMPI_MCA_oob_tcp_if_include": "net9",
}


def env_of(job: Job, image: dict[str, str], current: dict[str, str], interface: str | None) -> dict[str, str]:
    launcher = named(job.launcher.name)
    return rank_env(job, RankPlace(launcher, launcher.identity(current), interface), image, current)


def test_values_may_hold_anything_but_nul() -> None:
    assert parse_image_env(b"A=1=2\0B=x\ny\0odd.name=\xc3\xa9\0C=\0") == {
        "A": "1=2",
        "B": "x\ny",
        "odd.name": "é",
        "C": "",
    }


def test_a_rank_gets_the_image_back_and_keeps_what_the_launcher_set() -> None:
    image = {"PATH": "/opt/venv/bin", "CUDA_HOME": "/cuda", "HOME": "/root"}
    current = {
        "PATH": "/usr/bin",
        "HOME": "/run/hvdocker/home",
        "HOROVOD_RANK": "1",
        "HOROVOD_SIZE": "2",
        "HOROVOD_GLOO_IFACE": "eth0",
        "SSH_CLIENT": "198.18.0.2 5 6",
        "HVDOCKER_GRACE_S": "12",
    }
    assert env_of(JOB, image, current, "net9") == {
        **OURS,
        **NET9,
        "PATH": "/opt/venv/bin",
        "CUDA_HOME": "/cuda",
        "HOME": "/run/hvdocker/home",
        "HOROVOD_RANK": "1",
        "HOROVOD_SIZE": "2",
        "PYTHONUNBUFFERED": "1",
    }


def test_a_rank_is_told_which_start_of_the_job_it_is() -> None:
    again = env_of(replace(JOB, env={"HVDOCKER_RESTART": "7"}), {}, {"HVDOCKER_RESTART": "2"}, None)
    assert again["HVDOCKER_RESTART"] == "2"


def test_a_rank_cannot_be_given_another_number() -> None:
    told = env_of(replace(JOB, env={"RANK": "9", "MASTER_PORT": "1"}, master_port=30000), {"RANK": "8"}, {}, None)
    assert (told["RANK"], told["MASTER_PORT"]) == ("0", "30000")


def test_an_interface_that_a_person_chose_stays() -> None:
    by_job = Job(**{**JOB.__dict__, "env": {"NCCL_SOCKET_IFNAME": "ib0"}})
    assert env_of(by_job, {}, {}, "net9")["NCCL_SOCKET_IFNAME"] == "ib0"
    by_container = env_of(JOB, {"HOROVOD_GLOO_IFACE": "ib0"}, {"HOROVOD_GLOO_IFACE": "eth0"}, "net9")
    assert by_container["HOROVOD_GLOO_IFACE"] == "ib0"


def test_without_an_interface_the_launchers_choice_stays() -> None:
    assert env_of(JOB, {}, {"HOROVOD_GLOO_IFACE": "eth0"}, None)["HOROVOD_GLOO_IFACE"] == "eth0"


def test_nothing_secret_reaches_the_launcher() -> None:
    image = {"PATH": "/bin", "HOME": "/h", "TOKEN": "secret", "TF_CPP_MIN_LOG_LEVEL": "2"}
    assert launcher_env(image, 10) == {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "HVDOCKER_GRACE_S": "12",
        "HVDOCKER_RESTART": "0",
    }
    assert launcher_env(image, 10, restart=2)["HVDOCKER_RESTART"] == "2"


def test_a_rank_is_told_where_its_secrets_are() -> None:
    told = env_of(replace(JOB, secrets=("TOKEN",)), {}, {}, None)
    assert told["HVDOCKER_SECRETS"] == "/run/hvdocker/secrets/j"
    assert "HVDOCKER_SECRETS" not in env_of(JOB, {}, {}, None)


@pytest.mark.parametrize(
    ("devices", "own", "local_rank", "visible"),
    [
        (("GPU-1", "GPU-4"), {}, "1", "GPU-1,GPU-4"),
        (("GPU-1", "GPU-4"), {"CUDA_VISIBLE_DEVICES": "0,1,2"}, "0", "GPU-1,GPU-4"),
        # A process can use one slice only.
        (("MIG-1", "MIG-4"), {}, "1", "MIG-4"),
        # Who wants to see none may.
        (("GPU-1",), {"CUDA_VISIBLE_DEVICES": ""}, "0", ""),
        (("GPU-1",), {"CUDA_VISIBLE_DEVICES": "-1"}, "0", "-1"),
        # Without GPUs it is none of our business.
        ((), {"CUDA_VISIBLE_DEVICES": "3"}, "0", "3"),
        ((), {}, "0", None),
    ],
)
def test_a_rank_sees_its_jobs_gpus_and_no_others(
    devices: tuple[str, ...], own: dict[str, str], local_rank: str, visible: str | None
) -> None:
    job = replace(JOB, devices=devices, env=own)
    env = env_of(job, {"NVIDIA_VISIBLE_DEVICES": "GPU-0"}, {"HOROVOD_LOCAL_RANK": local_rank}, None)
    assert env.get("CUDA_VISIBLE_DEVICES") == visible


@pytest.mark.parametrize(("local_rank", "visible"), [("0", "GPU-1"), ("1", "GPU-4")])
def test_an_independent_rank_sees_only_the_gpu_of_its_slot(local_rank: str, visible: str) -> None:
    job = replace(JOB, devices=("GPU-1", "GPU-4"), launcher=JobLauncher("each"))
    assert env_of(job, {}, {"LOCAL_RANK": local_rank}, None)["CUDA_VISIBLE_DEVICES"] == visible
