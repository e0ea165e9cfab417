"""What holds for every finding and error that a person may be shown: evidence, a way out, and words that a
shell takes as they are meant."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.fitness import fitness_problems
from hvdocker.doctor.facts.facts import (
    ClockSeen,
    CodeSeen,
    DiskSeen,
    EngineState,
    HostFacts,
    InfinibandPort,
    InsideSeen,
    MachineSeen,
    TrialResult,
)
from hvdocker.doctor.facts.interfaces import InterfaceSeen
from hvdocker.doctor.judges.between_hosts import judge_between_hosts
from hvdocker.doctor.judges.finding import error_finding
from hvdocker.doctor.judges.host import JudgeInput, judge_host
from hvdocker.doctor.judges.interfaces import judge_interfaces
from hvdocker.doctor.pairs.commands import Listener, MtuFound, PairAnswer, Problem, SshCheck
from hvdocker.doctor.pairs.judge import judge_pairs
from hvdocker.doctor.pairs.pair_results import PairResults
from hvdocker.doctor.pairs.skip_reasons import hosts_to_skip
from hvdocker.doctor.report import Finding, Mark
from hvdocker.errors import HvdockerError, PassphraseRequired
from hvdocker.inventory.inventory import Host
from hvdocker.observe.state import ImageSeen
from tests.unit.builders import (
    ARM_ENGINE,
    ENGINE,
    IMAGE,
    OTHER_IMAGE,
    host_seen,
    host_with_worker,
    inventory,
    state_of,
)
from tests.unit.doctor.judges.machine_fixtures import FIXTURES, machine

FINE_ENGINE = EngineState("overlay2", "extfs", "2", "systemd")
PATH = "/srv/data"
HOSTILE = '/srv/it\'s "mine" $(touch evil) `touch evil`; touch evil & # *'
# Every check that can be red.
RED = {
    "address", "apparmor", "architecture", "container", "cpu", "cuda", "engine", "gpus",
    "home-disk", "image", "images-disk", "mounts", "mtu", "name", "network", "ports", "same horovod",
    "same image", "same nccl", "same tensorflow", "same torch", "selinux", "socket", "ssh", "tmp-disk",
    "toolkit", "worker",
}  # fmt: skip


def machines(path: str) -> Iterator[MachineSeen]:
    yield from (machine(file.stem) for file in sorted(FIXTURES.glob("*.txt")))
    plain = machine("plain")
    disks = [DiskSeen("home", path, 1 << 30, 0), DiskSeen("images", path, 1 << 30, 0)]
    disks += [replace(disk, free_bytes=1 << 29, inodes=9, free_inodes=0) for disk in disks]
    yield from (replace(plain, disks=(disk,), unwritable=closed) for disk in disks for closed in ((), (path,)))
    yield replace(plain, disks=(DiskSeen("tmp", "/tmp", 1 << 30, 0),), unwritable=("/tmp",))
    yield replace(plain, stale_feeds=(path,), gpu_error=f"cannot open {path}")
    yield replace(plain, resolved={"a": ("127.0.1.1",), "b": ("127.0.0.1",)}, hostname="a")
    yield replace(plain, infiniband_ports=(InfinibandPort("mlx5_0", "1", "1: DOWN"),))


def trials() -> Iterator[TrialResult | None]:
    yield from (
        None,
        TrialResult("x:y", error="no"),
        TrialResult("x:y", InsideSeen({}, "12.2"), gpu_error="no driver"),
    )
    yield TrialResult("x:y", InsideSeen({"python": "3.11"}, "99.1", 1 << 20, 1 << 16, 1024))


def of_hosts(path: str) -> Iterator[Finding]:
    """One host in many states of health."""
    text = f"hosts: [a, b]\nmounts: [{json.dumps(f'{path}:/data')}]\ncpus: 4\nport: 12345\n"
    lab = inventory(text)
    odd = [
        host_seen("a", home=path, missing_paths=(path,), home_free_bytes=0, needs_sudo=True),
        host_seen("a", image=replace(IMAGE, is_ours=False), engine=replace(ENGINE, version="1.0", cpus=2)),
        host_seen("a", reached_at="127.0.0.1", engine=ARM_ENGINE, image=None),
        host_seen("a", reached_at="10.0.0.12"),
        host_seen("a", reached_at="fd00::1"),
        host_with_worker(lab, "a", state="exited", home=path),
    ]
    engines = [replace(FINE_ENGINE, security=(one,)) for one in ("rootless", "userns", "apparmor", "selinux")]
    for seen in odd:
        host_plans = plan_hosts(lab, state_of(seen, host_seen("b")))
        errors = fitness_problems(lab, host_plans)
        yield from (error_finding(_check_of(error), error) for error in errors)
        for number, (seen_machine, trial) in enumerate((m, t) for m in machines(path) for t in trials()):
            health = HostFacts(
                "a", seen=seen, machine=seen_machine, clock=ClockSeen(900.0, 0.1), trial=trial,
                engine=engines[number % 4], code=CodeSeen("c" * 64, 3, (path,)),
            )  # fmt: skip
            problems = {check: (error,) for error in errors for check in [_check_of(error)]}
            known = {name: place.address for name, place in host_plans.items()}
            case = JudgeInput(lab, Host("a", "a"), health, place=host_plans["a"], problems=problems, is_up=True)
            yield from judge_host(replace(case, addresses=known, missing_image_bytes=1 << 60)).findings


def _check_of(error: HvdockerError) -> str:
    words = {"mount source": "mounts", "architecture": "architecture", "cpus": "cpu", "address": "address"}
    return next((check for word, check in words.items() if word in error.what), "engine")


def of_all_hosts() -> Iterator[Finding]:
    lab = inventory("hosts: [a, b]")
    for package in ("tensorflow", "horovod", "nccl", "torch", "python"):
        facts_by_host = {
            name: HostFacts(
                name,
                seen=host_with_worker(lab, name, image=image, image_id=image.id),
                trial=TrialResult("x:y", InsideSeen({package: version})),
                code=CodeSeen(version * 64, 1),
            )
            for name, image, version in (("a", IMAGE, "1"), ("b", OTHER_IMAGE, "2"))
        }
        yield from judge_between_hosts(lab, facts_by_host, "hvdocker up", "hvdocker train SCRIPT")


def of_pairs(interface: str) -> Iterator[Finding]:
    def answer(problem: Problem | None = None, mtu: MtuFound | None = None) -> PairAnswer:
        return PairAnswer(problem, {41001: problem}, mtu or MtuFound(1500, 1500, 1500), 0.1)

    kinds = ("timeout", "silent", "refused", "own", "unreachable", "other", "stranger", "login")
    sizes = [MtuFound(9000, 1400, None), MtuFound(1500, None, None, "no answer", "timed out")]
    wrong = [answer(Problem(kind, "it failed")) for kind in kinds] + [answer(mtu=size) for size in sizes]
    for hosts in ("ab", "abc"):
        posts = {
            name: Listener(name, f"10.0.0.{ord(name)}", "token", (41001,), 44004, interface, 9000) for name in hosts
        }
        for one in wrong:
            answers = {(s, e): one if e == "b" else answer() for s in hosts for e in hosts if s != e}
            ways = dict.fromkeys(hosts, SshCheck.LOGIN)
            for report in judge_pairs(PairResults(tuple(hosts), 12345, posts, answers, {}, ways)):
                yield from report.findings


def of_interfaces(name: str) -> Iterator[Finding]:
    beside = (InterfaceSeen("eth9", 1500, addresses=("10.0.0.12/24",)),)
    for address in ("127.0.0.1/8", "169.254.1.1/16", "10.0.0.11/24", "10.9.9.9/24"):
        seen = InterfaceSeen(name, 9000, is_up=False, addresses=(address,), speed_mbit=10)
        facts = {"a": (seen, *beside), "b": beside}
        own, _, _ = address.partition("/")
        for training in (own, "10.1.1.1"):
            yield from judge_interfaces({"a": training, "b": "10.0.0.12"}, facts).values()
    docker0 = InterfaceSeen("docker0", 1500, addresses=("172.17.0.1/16",))
    yield from judge_interfaces({"a": "172.17.0.1"}, {"a": (docker0,)}).values()


def everything(path: str = PATH, interface: str = "eth0") -> set[Finding]:
    return {
        *of_hosts(path),
        *of_all_hosts(),
        *of_pairs(interface),
        *of_interfaces(interface),
    }


def test_whatever_is_red_has_evidence_and_a_way_out() -> None:
    red = [finding for finding in everything() if finding.mark is Mark.BAD]
    assert {finding.check for finding in red} == RED
    assert [finding for finding in red if not finding.fix or not any(finding.evidence)] == []


def is_parsed(line: str) -> bool:
    return subprocess.run(["sh", "-n", "-c", line], capture_output=True, check=False).returncode == 0


def test_words_of_the_inventory_and_of_hosts_survive_in_commands() -> None:
    hostile_device = "e'th $(touch evil);0"
    findings = everything(HOSTILE, hostile_device)
    commands = {finding.command for finding in findings if finding.command}
    assert len(commands) > 15 and [line for line in commands if not is_parsed(line)] == []
    told = {text for finding in findings for text in (finding.command, finding.fix) if text}
    for hostile in (HOSTILE, hostile_device):
        named = [text for text in told if shlex.quote(hostile) in text]
        assert named
        assert [text for text in told if hostile in text.replace(shlex.quote(hostile), "")] == []
    # As words: the path arrives whole where it is looked at.
    looks = {words[0] for line in commands for words in [shlex.split(line)] if words[-1] == HOSTILE}
    assert looks == {"ls", "df"}


@pytest.mark.parametrize("image", ["mine:1", "reg.example/x y;z:1"])
def test_an_image_is_one_word(image: str) -> None:
    lab = replace(inventory("hosts: [a, b]"), image=image)
    state = state_of(host_seen("a", image=None), host_seen("b", image=None))
    fix = hosts_to_skip(lab, state, plan_hosts(lab, state), frozenset("ab"), "")["a"].fix
    assert shlex.split(fix or "") == ["docker", "pull", image]
    foreign = ImageSeen("sha256:1", "amd64", 1, is_ours=False)
    health = HostFacts("a", seen=host_seen("a", image=foreign))
    found = {one.check: one for one in judge_host(JudgeInput(lab, Host("a", "a"), health)).findings}
    assert shlex.split(found["image"].command or "")[-1] == image


def test_a_key_file_with_a_blank_in_its_name() -> None:
    assert (PassphraseRequired("/home/ada/my key").fix or "").endswith("ssh-add '/home/ada/my key'")
