from dataclasses import replace
from typing import Any

import pytest

from hvdocker.cluster.plan.addresses import (
    choose_port,
    local_subnet,
    moved_worker_problem,
    plan_hosts,
    port_conflicts,
    training_addresses,
)
from hvdocker.cluster.plan.fitness import UPGRADE_ENGINE_FIX, fitness_problems, is_too_old
from hvdocker.cluster.plan.up import plan_up
from hvdocker.errors import ExitCode, HostErrors, HostUnfit, HvdockerError
from hvdocker.observe.state import EngineSeen, NetworkSeen
from tests.unit.builders import ENGINE, MAKER, host_seen, host_with_worker, inventory, state_of

LAB = inventory("hosts: [a, b]")


def test_the_first_port_that_is_free_on_every_host() -> None:
    state = state_of(
        host_seen("a", listening_ports=frozenset({22, 12345})),
        host_seen("b", listening_ports=frozenset({12346, 12348})),
    )
    assert choose_port(LAB, state) == 12347


def test_the_inventorys_port_beats_everything() -> None:
    lab = inventory("hosts: [a, b]\nport: 2222\n")
    assert choose_port(lab, state_of(host_with_worker(LAB, "a"))) == 2222


def test_the_clusters_own_port_stays() -> None:
    """Its own worker listens there: that is no reason to move on."""
    old = inventory("hosts: [a, b]\nport: 13000\n")
    state = state_of(host_seen("a"), host_with_worker(old, "b", listening_ports=frozenset({13000})))
    assert choose_port(LAB, state) == 13000
    assert port_conflicts(state, plan_hosts(LAB, state)) == []


def test_a_stranger_on_the_port_is_a_conflict() -> None:
    lab = inventory("hosts: [a, b]\nport: 2222\n")
    state = state_of(host_seen("a", listening_ports=frozenset({2222})), host_seen("b"))
    assert port_conflicts(state, plan_hosts(lab, state)) == ["a"]


def test_a_worker_that_sleeps_does_not_excuse_a_stranger() -> None:
    lab = inventory("hosts: [a]\nport: 2222\n")
    state = state_of(host_with_worker(lab, "a", state="exited", listening_ports=frozenset({2222})))
    assert port_conflicts(state, plan_hosts(lab, state)) == ["a"]


def test_a_worker_on_its_old_port_does_not_excuse_a_stranger_on_the_new_one() -> None:
    old, new = inventory("hosts: [a]\nport: 2222\n"), inventory("hosts: [a]\nport: 3333\n")
    state = state_of(host_with_worker(old, "a", listening_ports=frozenset({2222, 3333})))
    assert port_conflicts(state, plan_hosts(new, state)) == ["a"]


def test_local_workers_have_addresses_of_their_own_and_so_no_conflicts() -> None:
    local = inventory("local: 1")
    state = state_of(host_seen("w1", listening_ports=frozenset({12345})))
    assert choose_port(local, state) == 12345
    assert port_conflicts(state, plan_hosts(local, state)) == []


def test_the_training_address() -> None:
    lab = inventory("hosts: [{host: a, address: 192.168.1.1}, b, c]")
    state = state_of(host_seen("a"), host_seen("b"), host_seen("c", reached_at=""))
    assert training_addresses(lab, state) == {"a": "192.168.1.1", "b": "10.0.0.12", "c": "c"}


def test_the_training_network_chooses_among_a_hosts_addresses() -> None:
    lab = inventory("hosts: [a, b]\nnetwork: 192.168.0.0/16\n")
    state = state_of(
        host_seen("a", addresses=("10.0.0.11", "fe80::1%eth0", "192.168.7.1", "192.168.7.2")),
        host_seen("b", addresses=("192.168.9.9",)),
    )
    assert training_addresses(lab, state) == {"a": "192.168.7.1", "b": "192.168.9.9"}


def test_a_host_outside_of_the_training_network() -> None:
    lab = inventory("hosts: [a, b]\nnetwork: 10.0.0.11/32\n")
    with pytest.raises(HostUnfit) as caught:
        plan_hosts(lab, state_of(host_seen("a"), host_seen("b")))
    assert str(caught.value) == "b: no address of this host is in the training network 10.0.0.11/32"
    assert caught.value.lines == ("it has 127.0.0.1, 10.0.0.12",)


def test_all_hosts_outside_of_the_training_network_are_named_at_once() -> None:
    lab = inventory("hosts: [a, b]\nnetwork: 192.168.0.0/24\n")
    with pytest.raises(HostErrors) as caught:
        plan_hosts(lab, state_of(host_seen("a"), host_seen("b")))
    assert [error.host for error in caught.value.errors] == ["a", "b"]
    assert caught.value.exit_code == ExitCode.UNFIT


def test_only_hosts_that_were_seen_have_places_in_the_inventorys_order() -> None:
    lab = inventory("hosts: [a, b, c]")
    host_plans = plan_hosts(lab, state_of(host_seen("c"), host_seen("a")))
    assert list(host_plans) == ["a", "c"]
    assert (host_plans["c"].folder, host_plans["c"].uid, host_plans["c"].gid) == ("/home/c/.hvdocker/lab/c", 1000, 1001)


@pytest.mark.parametrize(
    ("network", "subnet"),
    [
        (NetworkSeen(), "198.18.200.0/24"),
        (NetworkSeen(None, ("198.18.200.0/23", "10.0.0.0/8")), "198.18.202.0/24"),
        (NetworkSeen("198.18.249.0/24", ("198.18.249.0/24",)), "198.18.249.0/24"),
        (NetworkSeen(None, ("fd00::/8",)), "198.18.200.0/24"),
    ],
)
def test_the_local_subnet(network: NetworkSeen, subnet: str) -> None:
    assert local_subnet(state_of(host_seen("w1"), network=network)) == subnet


def test_no_local_subnet_is_left() -> None:
    with pytest.raises(HvdockerError, match="no subnet is free"):
        local_subnet(state_of(host_seen("w1"), network=NetworkSeen(None, ("198.18.0.0/15",))))


def test_hosts_that_share_a_home_on_any_file_system_have_folders_of_their_own() -> None:
    host_plans = plan_hosts(LAB, state_of(host_seen("a", home="/home/me"), host_seen("b", home="/home/me")))
    assert [host_plans[name].folder for name in "ab"] == ["/home/me/.hvdocker/lab/a", "/home/me/.hvdocker/lab/b"]
    # The engines are two: their workers need no longer names.
    assert host_plans["a"].worker_name == "hvdocker-lab-worker"


def problems(text: str, **reached_at: str) -> list[str]:
    lab = inventory(text)
    state = state_of(
        *(
            host_seen(name, reached_at=address, addresses=(address, f"192.168.0.{ord(name)}"))
            for name, address in reached_at.items()
        )
    )
    return [str(problem) for problem in fitness_problems(lab, plan_hosts(lab, state))]


def test_one_machine_under_two_names_is_refused() -> None:
    assert problems("hosts: [a, b, c]", a="10.0.0.11", b="10.0.0.12", c="10.0.0.11") == [
        "c: it has the same training address as a: 10.0.0.11"
    ]


def test_an_ipv6_training_address_is_refused_before_horovod_chokes_on_it() -> None:
    assert problems("hosts: [a, b]", a="10.0.0.11", b="fd00::2") == [
        "b: the training address fd00::2 is IPv6, and ranks need IPv4 between hosts"
    ]


def test_hosts_with_ipv6_alone_are_not_sent_to_the_bridge_of_their_engine() -> None:
    only_docker0 = ("127.0.0.1", "::1", "172.17.0.1")
    hosts = [
        host_seen(name, reached_at=f"fd00::{number}", addresses=(*only_docker0, f"fd00::{number}"))
        for number, name in enumerate("ab", start=1)
    ]
    found = fitness_problems(LAB, plan_hosts(LAB, state_of(*hosts)))
    assert [one.what for one in found] == [
        f"the training address fd00::{number} is IPv6, and ranks need IPv4 between hosts" for number in (1, 2)
    ]
    assert {one.fix for one in found} == {
        "give this host an IPv4 address that the other hosts can reach, and write it as its `address:`"
    }


def test_an_address_of_its_own_mends_both() -> None:
    fixed = "hosts: [a, {host: b, address: 192.168.0.98}, {host: c, address: 192.168.0.99}]"
    assert problems(fixed, a="10.0.0.11", b="10.0.0.11", c="fd00::2") == []


def unfit(text: str, **changes: object) -> list[HvdockerError]:
    """Of a lab whose host a is not what it should be."""
    lab = inventory(text)
    return fitness_problems(lab, plan_hosts(lab, state_of(host_seen("a", **changes), host_seen("b"))))


@pytest.mark.parametrize(
    ("address", "seen", "is_refused"),
    [
        ("10.0.0.77", ("127.0.0.1", "172.17.0.1", "10.0.0.11"), True),
        ("10.0.0.11", ("127.0.0.1", "10.0.0.11"), False),
        # A host that has no way to tell its addresses is believed.
        ("10.0.0.77", (), False),
    ],
)
def test_a_training_address_that_is_on_no_interface(address: str, seen: tuple[str, ...], is_refused: bool) -> None:
    found = unfit(f"hosts: [{{host: a, address: {address}}}, b]", addresses=seen)
    assert [str(error) for error in found] == [
        "a: the training address 10.0.0.77 is on no interface of this host"
    ] * is_refused
    for error in found:
        assert error.exit_code == ExitCode.UNFIT and error.lines == ("it has 127.0.0.1, 172.17.0.1, 10.0.0.11",)
        assert error.fix is not None and "`address: 10.0.0.11`" in error.fix


def test_the_addresses_of_a_local_cluster_are_not_the_machines() -> None:
    local = inventory("local: 2")
    state = state_of(host_seen("w1"), host_seen("w2"))
    assert fitness_problems(local, plan_hosts(local, state)) == []


@pytest.mark.parametrize(
    ("text", "changes", "what", "fix"),
    [
        (
            "hosts: [a, b]\ncpus: 4.5",
            {"engine": replace(ENGINE, cpus=4)},
            "`cpus: 4.5` is more than the 4 that it has",
            "write `cpus: 4` or less into the inventory",
        ),
        (
            "hosts: [a, b]",
            {"engine": replace(ENGINE, version="18.09.1")},
            "its Docker engine is too old: 18.09.1, at least 19.03 is needed",
            UPGRADE_ENGINE_FIX,
        ),
        (
            "hosts: [a, b]",
            {"home_free_bytes": 4096},
            "the disk of /home/a is full: 4.0 KB are free",
            "free some space there: du -xsh /home/a/* | sort -h",
        ),
        (
            "hosts: [a, b]\nmounts: ['/srv/my data:/data']",
            {"missing_paths": ("/srv/my data",)},
            "the mount source /srv/my data is not there",
            "on the host: sudo mkdir -p '/srv/my data' (or correct `mounts:`)",
        ),
    ],
)
def test_what_an_engine_or_a_disk_would_refuse(text: str, changes: dict[str, object], what: str, fix: str) -> None:
    (error,) = unfit(text, **changes)
    assert (error.host, error.what, error.fix) == ("a", what, fix)
    assert error.exit_code == ExitCode.UNFIT and error.lines and error.command


def test_as_many_cpus_as_there_are_and_just_enough_room() -> None:
    engine = replace(ENGINE, cpus=4, version="19.03.15")
    assert unfit("hosts: [a, b]\ncpus: 4", engine=engine, home_free_bytes=1 << 20) == []


@pytest.mark.parametrize(
    ("version", "is_old"),
    [
        ("1.13.1", True), ("17.03.2-ce", True), ("18.09.1", True), ("19.02", True),
        ("19.03.15", False), ("20.10.24+dfsg1", False), ("28.5.1", False),
        # Podman, Microsoft's and development builds of moby.
        ("4.9.3", False), ("5.2.1", False), ("3.0.13+azure", False), ("0.0.0-20241223", False), ("?", False),
    ],
)  # fmt: skip
def test_only_dockers_own_old_numbers_are_too_old(version: str, is_old: bool) -> None:
    assert is_too_old(version) is is_old


def test_a_cluster_that_an_earlier_version_made_keeps_its_folder() -> None:
    seen = host_seen("a", home="/net", cluster_dir="/net/.hvdocker/lab")
    assert plan_hosts(inventory("hosts: [a, b]\n"), state_of(seen))["a"].folder == "/net/.hvdocker/lab"


CLONED = EngineSeen("27.1.1", "x86_64", 1 << 34, cpus=8, id="ABCD:EFGH")


def one_machine(**of_b: Any) -> list[str]:
    """Return the problems of the hosts a and b, whose engines say the same id."""
    hosts = (host_seen("a", engine=CLONED, boot_id="boot-1"), host_seen("b", engine=CLONED, **of_b))
    return [str(problem) for problem in fitness_problems(LAB, plan_hosts(LAB, state_of(*hosts)))]


def test_one_machine_by_two_of_its_addresses_is_refused_with_both_names() -> None:
    expected = ["b: a and b are one machine, which the inventory names twice"]
    assert one_machine(boot_id="boot-1") == expected
    # Cloned virtual machines keep the id of the engine of their template.
    assert one_machine(boot_id="boot-2") == []
    # The engine that runs the worker of `a` already is not asked for its id.
    worker = host_with_worker(LAB, "a")
    state = state_of(worker, replace(host_seen("b"), containers=worker.containers))
    assert [str(one) for one in fitness_problems(LAB, plan_hosts(LAB, state))] == expected


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"security": ("seccomp", "rootless")}, "rootless"),
        ({"security": ("userns",)}, "userns-remap"),
        ({"root_dir": "/var/snap/docker/common/var-lib-docker"}, "snap"),
    ],
)
def test_an_engine_that_cannot_train_is_refused_before_an_image_is_sent(engine: dict[str, Any], words: str) -> None:
    seen = host_seen("a", engine=replace(CLONED, **engine), image=None)
    state = state_of(seen, host_seen("b"))
    with pytest.raises(HostUnfit, match=words) as caught:
        plan_up(LAB, state, plan_hosts(LAB, state), MAKER)
    assert caught.value.host == "a" and caught.value.fix
    local = inventory("local: 1\n")
    mine = state_of(host_seen("w1", engine=replace(CLONED, **engine)))
    assert fitness_problems(local, plan_hosts(local, mine)) == []


def test_a_data_set_that_the_ssh_user_may_not_read_is_refused() -> None:
    problems = unfit("hosts: [a, b]\n", unreadable_paths=("/srv/data",))
    assert [str(one) for one in problems] == ["a: ranks could not read the mount source /srv/data: permission denied"]
    # Another user of containers may have other rights, which nobody looked at.
    assert unfit("hosts: [a, b]\nuser: 5000:5000\n", unreadable_paths=("/srv/data",)) == []


def test_a_host_that_got_another_address_is_told_from_its_worker() -> None:
    seen = host_with_worker(LAB, "a")
    host = LAB.named("a")
    assert moved_worker_problem(host, seen, "hvdocker up", "10.0.0.11") is None
    moved = replace(seen, addresses=("127.0.0.1", "10.0.0.77"), reached_at="10.0.0.77")
    problem = moved_worker_problem(host, moved, "hvdocker up")
    assert problem and problem.what == "its worker listens on 10.0.0.11, and the host no longer has this address"
    assert (problem.host, problem.fix) == ("a", "hvdocker up")
    # It has the old address still, and another one is the training address.
    assert moved_worker_problem(host, seen, "hvdocker up") is None
    other = moved_worker_problem(host, seen, "hvdocker up", "10.0.0.77")
    assert other and other.what == "its worker listens on 10.0.0.11, and its training address is 10.0.0.77 now"
