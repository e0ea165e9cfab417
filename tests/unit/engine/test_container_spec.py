"""A container as the engine's API and the docker CLI get it, compared whole."""

from dataclasses import replace
from typing import Any

import pytest

from hvdocker.engine.container_spec import ContainerSpec, create_body, create_command

PLAIN = ContainerSpec(
    name="hvdocker-lab-worker",
    image="doc-hvd:cpu",
    command=("worker",),
    uid=1000,
    gid=1001,
    binds=("/home/a/.hvdocker/lab/code:/train", "/data:/data:ro"),
    labels={"hvdocker.cluster": "lab", "hvdocker.owner": "ada", "hvdocker.version": "0.1.0"},
    shm_bytes=1 << 30,
    restart="unless-stopped",
)
ROOT = replace(PLAIN, uid=0, gid=0, binds=(), labels={}, shm_bytes=None, restart="no")
GPUS = replace(PLAIN, binds=(), labels={}, devices=("all",), memory_bytes=2 << 30, cpus=1.5)
LOCAL = replace(PLAIN, binds=(), labels={}, shm_bytes=None, network="hvdocker-lab", address="198.18.200.11")


def body(spec: ContainerSpec, **changes: Any) -> dict[str, Any]:  # Any: JSON
    """What every container has; `changes` are its HostConfig's own."""
    return {
        "Image": "doc-hvd:cpu",
        "Cmd": ["worker"],
        "User": "1000:1001",
        "Labels": {"hvdocker.spec": spec.fingerprint()},
        "StopTimeout": 20,
        "HostConfig": {
            "NetworkMode": "host",
            "Binds": [],
            "Init": True,
            "CapDrop": ["ALL"],
            "CapAdd": [],
            "SecurityOpt": ["no-new-privileges"],
            "RestartPolicy": {"Name": "unless-stopped"},
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "50m", "max-file": "3"}},
            **changes,
        },
    }


def test_body_of_a_plain_users_worker() -> None:
    wanted = body(PLAIN, Binds=["/home/a/.hvdocker/lab/code:/train", "/data:/data:ro"], ShmSize=1 << 30)
    wanted["Labels"] = {
        "hvdocker.cluster": "lab",
        "hvdocker.owner": "ada",
        "hvdocker.version": "0.1.0",
        "hvdocker.spec": PLAIN.fingerprint(),
        "hvdocker.hostkey": "ssh-ed25519 A",
    }
    assert create_body(PLAIN, {"hvdocker.hostkey": "ssh-ed25519 A"}) == wanted


def test_body_of_roots_container() -> None:
    wanted = body(ROOT, CapAdd=["SETUID", "SETGID", "SYS_CHROOT", "DAC_OVERRIDE"], RestartPolicy={"Name": "no"})
    assert create_body(ROOT, {}) == {**wanted, "User": "0:0"}


def test_body_with_gpus_and_limits() -> None:
    gpus = [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]
    wanted = body(GPUS, ShmSize=1 << 30, Memory=2 << 30, NanoCpus=1_500_000_000, DeviceRequests=gpus)
    assert create_body(GPUS, {}) == wanted


def test_body_on_a_local_bridge() -> None:
    endpoint = {"hvdocker-lab": {"IPAMConfig": {"IPv4Address": "198.18.200.11"}}}
    wanted = {**body(LOCAL, NetworkMode="hvdocker-lab"), "NetworkingConfig": {"EndpointsConfig": endpoint}}
    assert create_body(LOCAL, {}) == wanted


def test_words_of_a_plain_users_worker() -> None:
    assert create_command(PLAIN).argv == (
        "docker", "create", "--name", "hvdocker-lab-worker", "--user", "1000:1001", "--init",
        "--network", "host", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
        "--restart", "unless-stopped", "--stop-timeout", "20", "--log-driver", "json-file",
        "--log-opt", "max-size=50m", "--log-opt", "max-file=3", "--shm-size", "1073741824",
        "--volume", "/home/a/.hvdocker/lab/code:/train", "--volume", "/data:/data:ro",
        "--label", "hvdocker.cluster=lab", "--label", "hvdocker.owner=ada",
        "--label", f"hvdocker.spec={PLAIN.fingerprint()}", "--label", "hvdocker.version=0.1.0",
        "doc-hvd:cpu", "worker",
    )  # fmt: skip


def test_words_of_roots_container() -> None:
    assert create_command(ROOT).argv == (
        "docker", "create", "--name", "hvdocker-lab-worker", "--user", "0:0", "--init", "--network", "host",
        "--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "SYS_CHROOT",
        "--cap-add", "DAC_OVERRIDE", "--security-opt", "no-new-privileges", "--restart", "no",
        "--stop-timeout", "20", "--log-driver", "json-file", "--log-opt", "max-size=50m",
        "--log-opt", "max-file=3", "--label", f"hvdocker.spec={ROOT.fingerprint()}", "doc-hvd:cpu", "worker",
    )  # fmt: skip


def test_exactly_these_gpus() -> None:
    some = replace(PLAIN, devices=("GPU-1", "MIG-7"))
    request = {"Driver": "", "DeviceIDs": ["GPU-1", "MIG-7"], "Capabilities": [["gpu"]]}
    assert create_body(some, {})["HostConfig"]["DeviceRequests"] == [request]
    words = create_command(some).argv
    assert words[words.index("--gpus") + 1] == '"device=GPU-1,MIG-7"'


def test_words_with_gpus_and_limits_and_on_a_local_bridge() -> None:
    both = replace(GPUS, network="hvdocker-lab", address="198.18.200.11")
    assert create_command(both).argv == (
        "docker", "create", "--name", "hvdocker-lab-worker", "--user", "1000:1001", "--init",
        "--network", "hvdocker-lab", "--ip", "198.18.200.11", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--restart", "unless-stopped", "--stop-timeout", "20",
        "--log-driver", "json-file", "--log-opt", "max-size=50m", "--log-opt", "max-file=3",
        "--gpus", "all", "--shm-size", "1073741824", "--memory", "2147483648", "--cpus", "1.5",
        "--label", f"hvdocker.spec={both.fingerprint()}", "doc-hvd:cpu", "worker",
    )  # fmt: skip


def test_made_by_any_user_with_any_version_it_is_the_same_container() -> None:
    labels = {**PLAIN.labels, "hvdocker.owner": "bob", "hvdocker.version": "9", "hvdocker.spec": "old"}
    assert replace(PLAIN, labels=labels).fingerprint() == PLAIN.fingerprint()


def test_the_job_that_a_worker_joined_makes_it_no_other_container() -> None:
    labels = {**PLAIN.labels, "hvdocker.joined": "train-abcd", "hvdocker.share": "2"}
    assert replace(PLAIN, labels=labels).fingerprint() == PLAIN.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x"}, {"image": "x"}, {"command": ("x",)}, {"uid": 7}, {"gid": 7}, {"network": "x"},
        {"address": "10.0.0.1"}, {"binds": ()}, {"labels": {**PLAIN.labels, "hvdocker.port": "1"}},
        {"devices": ("GPU-1",)}, {"shm_bytes": 1}, {"memory_bytes": 1}, {"cpus": 1.0}, {"restart": "no"},
        {"stop_timeout_s": 1}, {"groups": (7,)}, {"hostname": "x"}, {"hostname_address": "10.0.0.1"},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_anything_else_makes_it_another_container(change: dict[str, Any]) -> None:
    assert replace(PLAIN, **change).fingerprint() != PLAIN.fingerprint()


def test_no_field_is_forgotten_above() -> None:
    assert set(ContainerSpec.__dataclass_fields__) == {
        "name", "image", "command", "uid", "gid", "groups", "network", "address", "hostname",
        "hostname_address", "binds", "labels", "devices", "shm_bytes", "memory_bytes", "cpus", "restart",
        "stop_timeout_s",
    }  # fmt: skip


def test_who_has_no_gpus_is_told_as_earlier_versions_told_it() -> None:
    """Else their workers would all be replaced by the first `up` of a newer version."""
    spec = ContainerSpec(
        name="w", image="doc-hvd:cpu", command=("worker",), uid=1000, gid=1001, labels={"hvdocker.host": "a"}
    )
    assert spec.fingerprint() == "7a2c157a433c079e"


def test_a_container_has_the_groups_of_its_user_and_a_name_that_resolves_to_the_training_address() -> None:
    spec = replace(PLAIN, groups=(27, 4242), hostname="hvd-a", hostname_address="10.0.0.11")
    body = create_body(spec, {})
    assert body["Hostname"] == "hvd-a"
    assert body["HostConfig"]["ExtraHosts"] == ["hvd-a:10.0.0.11"]
    assert body["HostConfig"]["GroupAdd"] == ["27", "4242"]
    words = " ".join(create_command(spec).argv)
    assert "--group-add 27 --group-add 4242" in words
    assert "--hostname hvd-a --add-host hvd-a:10.0.0.11" in words
