"""A plan written out as a script, really run; ssh, docker and ssh-keygen are stand-ins that write down."""

import os
import subprocess
import tarfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from hvdocker import assets
from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.down import plan_down
from hvdocker.cluster.plan.up import plan_up
from hvdocker.engine.container_spec import create_command
from hvdocker.images.requirements import Requirements, Wheel
from hvdocker.images.steps import BuildLayer
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.capsule.capsule import PATCH_MAX_BYTES_ON_ALL_HOSTS, Capsule, CapsuleFiles
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.results.code_files import NO_JOB
from hvdocker.observe.state import ClusterState, HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import Plan, Stage
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.script.script import script_of
from hvdocker.training.plan.train import plan_train
from hvdocker.training.steps import WritePatch
from tests.unit.builders import (
    CAPSULE,
    ENGINE,
    MAKER,
    host_seen,
    host_with_worker,
    inventory,
    master,
    state_of,
)
from tests.unit.script.script_run import STAND_INS, ScriptOptions, ScriptRun

LAB = inventory("hosts: [a, {host: b, ssh: {user: root, port: 2222}}]")
WORKER = "hvdocker-lab-worker"


def content(archive: Path) -> dict[str, tuple[int, int, int, str]]:
    with tarfile.open(archive) as tar:
        return {member.name: (member.mode, member.uid, member.gid, _text(tar, member)) for member in tar.getmembers()}


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    file = tar.extractfile(member)
    return file.read().decode() if file else ""


def seen(tmp_path: Path, name: str, **changes: object) -> HostSeen:
    return host_seen(name, home=str(tmp_path / name), **changes)


def planned(wanted: Inventory, state: ClusterState) -> tuple[Plan, dict[str, HostPlan]]:
    host_plans = plan_hosts(wanted, state)
    return plan_up(wanted, state, host_plans, MAKER), host_plans


def test_up_by_hand_does_what_up_does(tmp_path: Path) -> None:
    state = state_of(seen(tmp_path, "a"), seen(tmp_path, "b", image=None))
    plan, host_plans = planned(LAB, state)
    ran = ScriptRun(plan, LAB, tmp_path)
    created = {name: created_by_hand(name, host_plans[name]) for name in "ab"}
    for host, before in (("a", [["docker", "save", "doc-hvd:cpu"]]), ("b", [["docker", "load", "--quiet"]])):
        address = host_plans[host].address
        mesh = [["docker", "exec", WORKER, "/opt/hvdocker/bin/check", "mesh", "a", "b"]] if host == "a" else []
        assert ran.calls_on("root@b" if host == "b" else host) == [
            *before,
            created[host],
            ["docker", "cp", f"{WORKER}:/etc/passwd", "-"],
            ["docker", "cp", "-", f"{WORKER}:/etc"],
            ["docker", "cp", "-", f"{WORKER}:/run"],
            ["docker", "start", WORKER],
            ["docker", "exec", WORKER, "/opt/hvdocker/bin/check", "sshd", address, "12345", "30"],
            *mesh,
        ]
    assert (tmp_path / "a" / ".hvdocker" / "lab" / "a" / "code").is_dir()
    assert (tmp_path / "b" / ".hvdocker" / "lab" / "b" / "jobs").is_dir()


def created_by_hand(name: str, place: HostPlan) -> list[str]:
    """The words that the docker CLI gets: the same container, and the public keys as labels."""
    words = list(create_command(worker_spec(LAB, place, MAKER)).argv)
    labels = {word for flag, word in pairwise(words) if flag == "--label"}
    labels |= {f"hvdocker.hostkey=ssh-ed25519 host_{name}", "hvdocker.clientkey=ssh-ed25519 id_ed25519"}
    start = words.index("--label")
    plain = [word for label in sorted(labels, key=lambda text: text.partition("=")[0]) for word in ("--label", label)]
    return [*words[:start], *plain, *words[-2:]]


def test_what_a_worker_gets_by_hand_is_owned_by_its_user(tmp_path: Path) -> None:
    plan, _ = planned(LAB, state_of(seen(tmp_path, "a"), seen(tmp_path, "b")))
    ran = ScriptRun(plan, LAB, tmp_path)
    given = content(ran.archives[("a", f"{WORKER}:/run")])
    assert {name: entry[:3] for name, entry in given.items()} == {
        "hvdocker": (0o700, 1000, 1001),
        "hvdocker/home": (0o700, 1000, 1001),
        "hvdocker/ssh": (0o700, 1000, 1001),
        "hvdocker/ssh/authorized_keys": (0o600, 1000, 1001),
        "hvdocker/ssh/config": (0o600, 1000, 1001),
        "hvdocker/ssh/host_ed25519_key": (0o600, 1000, 1001),
        "hvdocker/ssh/id_ed25519": (0o600, 1000, 1001),
        "hvdocker/ssh/known_hosts": (0o600, 1000, 1001),
        "hvdocker/ssh/sshd_config": (0o600, 1000, 1001),
    }
    assert given["hvdocker/ssh/known_hosts"][3] == (
        "[10.0.0.11]:12345 ssh-ed25519 host_a\n[10.0.0.12]:12345 ssh-ed25519 host_b\n"
    )
    assert given["hvdocker/ssh/authorized_keys"][3] == ('restrict,from="10.0.0.11,10.0.0.12" ssh-ed25519 id_ed25519\n')
    assert given["hvdocker/ssh/host_ed25519_key"][3] == "PRIVATE host_a\n"
    assert given["hvdocker/ssh/id_ed25519"][3] == "PRIVATE id_ed25519\n"
    assert "ListenAddress 10.0.0.11\n" in given["hvdocker/ssh/sshd_config"][3]
    assert given["hvdocker/ssh/config"][3].endswith("LogLevel ERROR\n")
    passwd = content(ran.archives[("a", f"{WORKER}:/etc")])
    assert passwd == {
        "passwd": (
            0o644,
            0,
            0,
            "root:x:0:0::/root:/bin/sh\nhvd:x:1000:1001:hvdocker:/run/hvdocker/home:/bin/sh\n",
        )
    }


def test_a_joining_worker_by_hand(tmp_path: Path) -> None:
    state = state_of(seen(tmp_path, "a"), host_with_worker(LAB, "b", home=str(tmp_path / "b")))
    plan, _ = planned(LAB, state)
    ran = ScriptRun(plan, LAB, tmp_path)
    assert ran.calls_on("root@b") == [
        ["docker", "cp", f"{WORKER}:/run/hvdocker/ssh/id_ed25519", "-"],
        ["docker", "cp", "-", f"{WORKER}:/run/hvdocker/ssh"],
    ]
    told = content(ran.archives[("root@b", f"{WORKER}:/run/hvdocker/ssh")])
    assert {name: entry[:3] for name, entry in told.items()} == dict.fromkeys(
        ("config", "known_hosts", "authorized_keys"), (0o600, 1000, 1001)
    )
    assert told["known_hosts"][3] == ("[10.0.0.11]:12345 ssh-ed25519 host_a\n[10.0.0.12]:12345 ssh-ed25519 HOSTKEYB\n")
    assert told["authorized_keys"][3] == 'restrict,from="10.0.0.11,10.0.0.12" ssh-ed25519 KEPT\n'


def test_train_by_hand(tmp_path: Path) -> None:
    state = state_of(*(host_with_worker(LAB, name, home=str(tmp_path / name)) for name in "ab"))
    project = tmp_path / "my project"
    (project / "__pycache__").mkdir(parents=True)
    (project / "train.py").write_text("print('hi')")
    job = JobSpec(
        job="train-abcd",
        cluster="lab",
        placement=Placement((Share("a", 1), Share("b", 1))),
        addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
        port=12345,
        command=("python", "/train/train.py", "it's $HOME"),
        launcher=JobLauncher("horovod"),
        launcher_preview=("horovodrun",),
        workdir="/train",
    )
    ran = ScriptRun(plan_train(LAB, plan_hosts(LAB, state), MAKER, job, str(project)), LAB, tmp_path)
    for name in "ab":
        folder = tmp_path / name / ".hvdocker" / "lab" / name
        assert (folder / "jobs" / "train-abcd" / "job.json").read_text() == job.for_host(name) + "\n"
        assert [path.name for path in (folder / "code").iterdir()] == ["train.py"]
    called, job_name = ran.calls_on("a"), "hvdocker-lab-train-abcd"
    assert [words[1] for words in called] == ["create", *["cp"] * 9, "start"]
    taken = [f"{WORKER}:/run/hvdocker/ssh/{file}" for file in ("config", "id_ed25519", "known_hosts")]
    # The two ends of a pipe may be called in either order.
    assert sorted(words[2:] for words in called[4:-1]) == [
        *[["-", f"{job_name}:/run/hvdocker/ssh"]] * 3, *([file, "-"] for file in taken),
    ]  # fmt: skip
    assert called[-1] == ["docker", "start", job_name]
    assert ran.calls_on("root@b") == []


def test_a_jobs_capsule_by_hand(tmp_path: Path) -> None:
    """Any bytes, and values of the caller's that look like nothing secret; one that is hidden stays so."""
    project = tmp_path / "me"
    project.mkdir()
    state = state_of(*(host_with_worker(LAB, name, home=str(tmp_path / name)) for name in "ab"))
    job = JobSpec(
        job="train-abcd",
        cluster="lab",
        placement=Placement((Share("a", 1), Share("b", 1))),
        addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
        port=12345,
        command=("python",),
        launcher=JobLauncher("horovod"),
        launcher_preview=("horovodrun",),
        workdir="/train",
    )
    env = {"SEED": "7", "TOKEN": "***"}
    capsule = replace(CAPSULE, env=env, env_from_caller=("SEED", "TOKEN"))
    patch = bytes(range(256)) + b"HVDOCKER_END\n"
    plan = plan_train(LAB, plan_hosts(LAB, state), MAKER, job, None, capsule=CapsuleFiles(capsule, patch))
    ran = ScriptRun(plan, LAB, tmp_path, ScriptOptions({"SEED": "8", "TOKEN": "hunter2"}))
    for name in "ab":
        folder = tmp_path / name / ".hvdocker" / "lab" / name / "jobs" / "train-abcd"
        found = Capsule.read((folder / "capsule.json").read_text())
        assert found == replace(capsule, env={"SEED": "8", "TOKEN": "***"})
        assert (folder / "code.patch").read_bytes() == patch
    assert "hunter2" not in ran.text


def test_a_large_patch_is_left_out_of_a_script(tmp_path: Path) -> None:
    large = WritePatch("a", str(tmp_path), b"x" * (PATCH_MAX_BYTES_ON_ALL_HOSTS + 1))
    ran = ScriptRun(Plan("train", "lab", (Stage("files", (large,)),)), LAB, tmp_path)
    assert len(ran.text) < 5000 and not (tmp_path / "code.patch").exists()


def test_down_by_hand(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name / ".hvdocker" / "lab" / name / "jobs").mkdir(parents=True)
    hosts = [host_with_worker(LAB, name, home=str(tmp_path / name)) for name in "ab"]
    ran = ScriptRun(plan_down(LAB, state_of(*hosts), ("train-abcd",)), LAB, tmp_path)
    assert ran.calls == [
        ["here", "hvdocker", "fetch", "train-abcd"],
        ["a", "docker", "rm", "-f", "-v", WORKER],
        ["root@b", "docker", "rm", "-f", "-v", WORKER],
    ]
    assert list((tmp_path / "a").iterdir()) == list((tmp_path / "b").iterdir()) == []


def test_a_local_cluster_by_hand(tmp_path: Path) -> None:
    local = inventory("local: 1\ncluster: lab\n")
    plan, _ = planned(local, state_of(seen(tmp_path, "w1", image=None), controller_engine=ENGINE))
    ran = ScriptRun(plan, local, tmp_path)
    assert {words[0] for words in ran.calls} == {"here"}
    assert ran.calls[0] == ["here", "hvdocker", "image", "build", "--target", "cpu"]
    assert ran.calls[1] == [
        "here", "docker", "network", "create", "--driver", "bridge", "--subnet", "198.18.200.0/24",
        "--label", "hvdocker.cluster=lab", "hvdocker-lab",
    ]  # fmt: skip


def test_docker_through_sudo_where_the_socket_is_denied(tmp_path: Path) -> None:
    text = script_of(
        plan_down(LAB, state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b")), ()),
        LAB,
        assets.ssh_config_template(),
        frozenset({"a"}),
    )
    assert "on_a 'sudo -n docker rm -f -v hvdocker-lab-worker'" in text
    assert "on_b 'docker rm -f -v hvdocker-lab-worker'" in text


def test_down_by_hand_removes_nothing_while_the_code_folder_has_files_of_no_job(tmp_path: Path) -> None:
    folder = tmp_path / ".hvdocker" / "lab" / "a"
    folder.mkdir(parents=True)
    state = state_of(host_seen("a", cluster_dir=str(folder)))
    text = script_of(plan_down(LAB, state, ("train-abcd", NO_JOB)), LAB, assets.ssh_config_template())
    assert text.index("hvdocker fetch train-abcd") < text.index("exit 1") < text.index("remove " + str(folder))
    (tmp_path / "log").mkdir()
    searched = {**os.environ, "PATH": f"{STAND_INS}:{os.environ['PATH']}", "LOG": str(tmp_path / "log")}
    done = subprocess.run(["bash"], input=text, env=searched, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1 and "files of no job" in done.stderr
    assert folder.is_dir()


@pytest.mark.parametrize("names", [("gpu-1", "gpu.1"), ("gpu_1", "gpu-1"), ("this_machine", "b")])
def test_hosts_with_similar_names_are_not_mixed_up(tmp_path: Path, names: tuple[str, str]) -> None:
    lab = inventory(f"hosts: [{{host: one, name: {names[0]}}}, {{host: two, name: {names[1]}}}]")
    job = master("train-abcd", "{}", state="exited", host=names[0])
    state = state_of(
        host_seen(names[0], containers=(job,)),
        host_seen(names[1], cluster_dir=str(tmp_path / ".hvdocker" / "x")),
    )
    ran = ScriptRun(plan_down(lab, state, ("train-abcd",)), lab, tmp_path)
    assert ran.calls_on("one") == [["docker", "rm", "-f", "-v", "hvdocker-lab-train-abcd"]]


def test_no_key_stands_in_a_script(tmp_path: Path) -> None:
    plan, _ = planned(LAB, state_of(seen(tmp_path, "a"), seen(tmp_path, "b")))
    assert "PRIVATE" not in script_of(plan, LAB, assets.ssh_config_template())


def test_requirements_are_installed_by_hand(tmp_path: Path) -> None:
    (tmp_path / "six 1.whl").write_text("A WHEEL")
    wheel = Wheel(str(tmp_path / "six 1.whl"), "ab")
    asked = Requirements("/me/requirements.txt", ("it's>=1",), ("six<2",), (wheel,))
    step = BuildLayer("a", "hvdocker-req:k", "sha256:base", "content", "k", asked)
    (tmp_path / "ca.pem").write_text("OUR CA")
    way = ScriptOptions(environ={"PIP_CERT": str(tmp_path / "ca.pem")})
    ran = ScriptRun(Plan("train", "lab", (Stage("image", (step,)),)), LAB, tmp_path, way)
    name = "hvdocker-req-k-by-hand"
    start, copy, install, commit, remove = ran.calls_on("a")
    labels = [value for word, value in pairwise(start) if word == "--label"]
    assert labels == ["hvdocker.requirements=k", "hvdocker.base=content"]
    assert start[-2:] == ["sha256:base", "7200"]
    assert copy == ["docker", "cp", "-", f"{name}:/tmp"]
    assert install == ["docker", "exec", "--user", "0:0", name, "sh", "/tmp/hvdocker-layer/install"]
    assert commit[-2:] == [name, "hvdocker-req:k"]
    assert 'ENTRYPOINT ["/opt/hvdocker/bin/entrypoint"]' in commit
    assert remove == ["docker", "rm", "-f", name]
    files = content(ran.archives["a", f"{name}:/tmp"])
    assert files["hvdocker-layer/requirements.txt"][3] == "it's>=1\n"
    assert files["hvdocker-layer/constraints.txt"][3] == "six<2\n"
    assert files["hvdocker-layer/site-ca.crt"][3] == "OUR CA"
    assert files["hvdocker-layer/wheelhouse/six 1.whl"][3] == "A WHEEL"
