"""One host as a whole, and all of them compared."""

from dataclasses import replace

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.doctor.facts.facts import ClockSeen, CodeSeen, EngineState, HostFacts, InsideSeen, TrialResult
from hvdocker.doctor.judges.between_hosts import judge_between_hosts
from hvdocker.doctor.judges.cluster import why_replaced
from hvdocker.doctor.judges.host import FixCommands, JudgeInput, judge_host
from hvdocker.doctor.report import DoctorReport, Finding
from hvdocker.errors import ChannelRefused, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host
from hvdocker.locks.holder import Holder
from hvdocker.observe.state import ContainerSeen
from tests.unit.builders import CLIENT_KEY, MAKER, OTHER_IMAGE, host_seen, host_with_worker, inventory, state_of
from tests.unit.doctor.judges.machine_fixtures import machine

LAB = inventory("hosts: [a, b]\nport: 12345\n")
INSIDE = InsideSeen({"python": "3.11.2", "horovod": "0.28.1"}, None, 4 << 30, None, 65536)
HEALTHY = HostFacts(
    "a",
    seen=host_with_worker(LAB, "a"),
    machine=machine("plain"),
    clock=ClockSeen(0.0, 0.01),
    engine=EngineState("overlay2", "extfs", "2", "systemd"),
    trial=TrialResult("x:y", INSIDE),
    code=CodeSeen("c" * 64, 3),
)


def judged(health: HostFacts, **changes: object) -> dict[str, Finding]:
    seen = health.seen
    place = plan_hosts(LAB, state_of(seen))["a"] if seen else None
    host = Host("a", "a")
    case = replace(JudgeInput(LAB, host, health, FixCommands(" -i x.yaml"), place, is_up=True), **changes)  # type: ignore[arg-type]
    return {finding.check: finding for finding in judge_host(case).findings}


def bad(found: dict[str, Finding]) -> set[str]:
    return {check for check, finding in found.items() if finding.mark.value == "bad"}


def test_a_healthy_host() -> None:
    found = judged(HEALTHY)
    assert {finding.mark.value for finding in found.values()} == {"good"}
    assert found["port"].shown == "12345 held by its own worker"
    assert found["code"].shown == "cccccccccccc, 3 files"
    assert found["address"].shown == "10.0.0.11"
    by_key = judged(replace(HEALTHY, login="ada, key /home/ada/.ssh/id_ed25519 (agent)"))
    assert by_key["login"].shown == "ada, key /home/ada/.ssh/id_ed25519 (agent)"


def test_a_host_that_was_not_reached_says_how_far_the_way_led() -> None:
    error = HostUnreachable("no SSH key was accepted", host="a", lines=["tried x"], fix="ssh-copy-id a")
    error.stage = "login"
    found = judged(HostFacts("a", connect_error=error))
    assert list(found) == ["resolves", "answers", "hostkey", "login"] and bad(found) == {"login"}
    assert found["login"].is_unreachable and found["login"].evidence == ("tried x",)
    odd = judged(HostFacts("a", connect_error=HvdockerError("the SSH key is not there")))
    assert bad(odd) == {"answers"} and odd["answers"].is_unreachable


def test_without_an_engine_the_machine_is_known_all_the_same() -> None:
    unfit = HostUnfit("no Docker engine is running", host="a", fix="sudo systemctl start docker")
    found = judged(HostFacts("a", observe_error=unfit, machine=machine("plain"), clock=ClockSeen(0, 0.01)))
    assert bad(found) == {"engine"} and found["memory"].mark.value == "good"
    assert "image" not in found and "port" not in found


def test_a_host_that_was_lost_in_between_cannot_be_reached() -> None:
    lost = HostUnreachable("the connection was lost: asking for the time", host="a")
    found = judged(replace(HEALTHY, clock=None, failures=(lost,)))
    assert bad(found) == {"answers"} and found["answers"].is_unreachable
    slow = judged(replace(HEALTHY, engine=None, failures=(HvdockerError("took longer", host="a"),)))
    assert bad(slow) == set() and slow["unseen"].mark.value == "unknown"
    refused = judged(replace(HEALTHY, clock=None, failures=(ChannelRefused("refused a channel", host="a"),)))
    assert bad(refused) == {"login"} and not refused["login"].is_unreachable


def test_what_the_planners_found() -> None:
    error = HostUnfit("the port 12345 is in use", host="a", lines=["held by pid 1"])
    found = judged(HEALTHY, problems={"port": (error,), "mounts": (HostUnfit("no /mnt"),)})
    assert bad(found) == {"port", "mounts"} and found["port"].evidence == ("held by pid 1",)


def test_an_image_that_is_not_there_leaves_cells_open() -> None:
    health = replace(HEALTHY, seen=host_seen("a", image=None), trial=None)
    found = judged(health, is_up=False, missing_image_bytes=1 << 50)
    assert found["image"].mark.value == "unknown" and found["image"].fix == "hvdocker image push -i x.yaml"
    assert bad(found) == {"images-disk"} and "shm" not in found


def test_an_image_needs_room_for_its_largest_layer_twice_while_it_is_loaded() -> None:
    """Unless the engine may have most of its layers: it has another image of ours."""
    health = replace(HEALTHY, seen=host_seen("a", image=None), trial=None)
    engine = replace(HEALTHY.engine or EngineState(), has_own_image=True)
    free = next(disk.free_bytes for disk in machine("plain").disks if disk.what == "images")
    for one, found in ((health, {"images-disk"}), (replace(health, engine=engine), set())):
        assert bad(judged(one, is_up=False, missing_image_bytes=free // 2)) == found


def test_workers_that_are_not_what_they_should_be() -> None:
    exited = judged(replace(HEALTHY, seen=host_with_worker(LAB, "a", state="exited")))
    assert bad(exited) == {"worker"} and exited["worker"].fix == "hvdocker up -i x.yaml"
    assert judged(replace(HEALTHY, seen=host_seen("a")))["worker"].mark.value == "bad"
    changed = judged(HEALTHY, why_new="its settings changed")["worker"]
    assert changed.mark.value == "warn" and "its settings changed" in changed.shown


def test_a_container_of_somebody_else_that_has_the_name_of_the_worker() -> None:
    engine = replace(HEALTHY.engine or EngineState(), foreign_container="hvdocker-lab-worker")
    taken = judged(replace(HEALTHY, engine=engine, seen=host_seen("a")), is_up=False)
    assert bad(taken) == {"worker"} and taken["worker"].fix
    assert "docker rename hvdocker-lab-worker hvdocker-lab-worker-old" in taken["worker"].fix


def test_a_lock_that_nobody_can_take() -> None:
    error = HostUnfit("the host cannot be locked", lines=["a file"], fix="sudo rm -rf /tmp/hvdocker.lock")
    found = judged(replace(HEALTHY, lock_error=error))
    assert bad(found) == {"lock"} and found["lock"].fix == "sudo rm -rf /tmp/hvdocker.lock"


def test_why_a_worker_would_be_replaced() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", image_id=OTHER_IMAGE.id))
    assert why_replaced(LAB, state, plan_hosts(LAB, state), MAKER) == {"b": "the image changed"}


def test_a_changed_client_key_is_a_reason_too() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))
    host_plans = plan_hosts(LAB, state)
    assert why_replaced(LAB, state, host_plans, MAKER, CLIENT_KEY) == {}
    changed = dict.fromkeys("ab", "the client key changed")
    assert why_replaced(LAB, state, host_plans, MAKER, "ssh-ed25519 OTHER") == changed
    other = host_with_worker(LAB, "b")
    (worker,) = other.containers
    other = replace(other, containers=(replace(worker, labels={**worker.labels, "hvdocker.clientkey": "k"}),))
    cut = state_of(host_with_worker(LAB, "a"), other)
    assert why_replaced(LAB, cut, host_plans, MAKER) == dict.fromkeys("ab", "a rotation of keys was cut off")


def test_code_that_was_edited_there() -> None:
    found = judged(replace(HEALTHY, code=CodeSeen("c" * 64, 3, ("train.py",))))
    assert found["code"].mark.value == "warn" and found["code"].evidence == ("train.py",)
    assert found["code"].fix == "bring the same code everywhere: hvdocker train -i x.yaml --checksum SCRIPT"
    cut = judged(replace(HEALTHY, code=CodeSeen("c" * 64, 3, is_unfinished=True)))
    assert cut["code"].mark.value == "warn"


def test_leftovers() -> None:
    def of(name: str, role: str, state: str, cluster: str = "lab") -> ContainerSeen:
        labels = {"hvdocker.cluster": cluster, "hvdocker.role": role, "hvdocker.owner": "eve"}
        return ContainerSeen(name, name, state, "x", labels)

    seen = EngineState(
        "overlay2",
        containers=(
            of("d", "doctor", "exited"),
            of("m", "master", "created"),
            of("ended", "master", "exited"),
            of("theirs", "worker", "running", "other"),
        ),
        incomplete_images=("hvdocker-part:1-x",),
    )
    dirty = replace(
        HEALTHY, seen=host_seen("a", cluster_dir="/h/.hvdocker/lab/a"), machine=machine("full"), engine=seen
    )
    left = judged(dirty)["leftovers"]
    assert [line.split(":")[0] for line in left.evidence] == [
        "d", "m", "/h/.hvdocker/lab/a", "hvdocker-part", "/var/tmp/hvdocker-feed-1",
    ]  # fmt: skip
    assert left.mark.value == "warn" and left.fix == "hvdocker down -i x.yaml"
    holder = Holder("ab", "eve", "desk", "e", "up", "theirs", age_s=5, held_s=30)
    lock = judged(replace(dirty, lock=holder))["lock"]
    assert lock.evidence == ("eve@desk is running `up` of cluster theirs, since 30 s",)
    stale = judged(replace(dirty, lock=replace(holder, age_s=90)))["lock"]
    assert stale.shown == "a lock was left behind" and stale.fix == "hvdocker lock release -i x.yaml"
    kept = judged(replace(HEALTHY, engine=EngineState("overlay2", containers=seen.containers[2:])))
    assert kept["leftovers"].shown == "none; 1 ended job kept for logs; also here: other of eve"


def across(**healths: HostFacts) -> dict[str, Finding]:
    found = {name: replace(health, name=name) for name, health in healths.items()}
    return {finding.check: finding for finding in judge_between_hosts(LAB, found, "up", "train")}


def test_hosts_that_are_alike() -> None:
    found = across(a=HEALTHY, b=replace(HEALTHY, seen=host_with_worker(LAB, "b")))
    assert {finding.mark.value for finding in found.values()} == {"good"}
    assert {"same image", "same code", "same python", "same horovod", "same engine"} <= set(found)


def test_hosts_that_differ() -> None:
    other = replace(
        HEALTHY,
        seen=host_with_worker(LAB, "b", image=OTHER_IMAGE, image_id=OTHER_IMAGE.id),
        machine=machine("old-card"),
        trial=TrialResult("x:y", InsideSeen({"python": "3.12.1"})),
        code=CodeSeen("d" * 64, 3),
    )
    found = across(a=replace(HEALTHY, machine=machine("a100-mig")), b=other)
    marks = {check: finding.mark.value for check, finding in found.items() if finding.mark.value != "good"}
    assert marks == {
        "same image": "bad",
        "same code": "warn",
        "same horovod": "bad",
        "same python": "warn",
        "same gpus": "warn",
        "same driver": "warn",
    }
    assert found["same horovod"].evidence == ("a: 0.28.1", "b: none")
    assert found["same code"].evidence == ("a: cccccccccccc", "b: dddddddddddd")


@pytest.mark.parametrize(
    ("package", "mark"),
    [("tensorflow", "bad"), ("horovod", "bad"), ("nccl", "bad"), ("torch", "bad"), ("keras", "warn")],
)
def test_packages_that_differ_and_that_are_alike(package: str, mark: str) -> None:
    def having(name: str, version: str | None = None) -> HostFacts:
        inside = InsideSeen({package: version} if version else {})
        return replace(HEALTHY, seen=host_with_worker(LAB, name), trial=TrialResult("x:y", inside))

    alike = across(a=having("a", "2.1"), b=having("b", "2.1"))[f"same {package}"]
    assert (alike.mark.value, alike.shown) == ("good", "2.1")
    other = across(a=having("a", "2.1"), b=having("b", "2.2"))[f"same {package}"]
    assert (other.mark.value, other.evidence, other.fix) == (mark, ("a: 2.1", "b: 2.2"), "up")
    assert f"same {package}" not in across(a=having("a"), b=having("b"))
    # What only some have has to be everywhere, if ranks talk through it.
    half = across(a=having("a", "2.1"), b=having("b"))[f"same {package}"]
    assert half.mark.value == ("bad" if mark == "bad" else "good")


def test_different_builds_before_up_are_made_right_by_it() -> None:
    other = replace(HEALTHY, seen=host_seen("b", image=OTHER_IMAGE))
    found = across(a=replace(HEALTHY, seen=host_seen("a")), b=other)["same image"]
    assert (found.mark.value, found.fix) == ("warn", "up")


def test_one_host_has_nothing_to_be_compared_with() -> None:
    assert across(a=HEALTHY) == {}
    assert DoctorReport("lab", ()).exit_code == 0
