"""What `up` decides, as whole plans."""

from dataclasses import replace

import pytest

from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.members import notes_on_removed_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.cluster.steps import (
    AwaitSshd,
    CheckMesh,
    CreateWorker,
    MakeFolders,
    MakeKeys,
    MakeNetwork,
    RefreshTrust,
    RemoveContainer,
    StartContainer,
    Trust,
    WriteMembers,
)
from hvdocker.errors import ExitCode, HostErrors, HostUnfit, HvdockerError
from hvdocker.images.steps import BuildImage, ShipImage
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.gpu import GpuSeen
from hvdocker.observe.state import ClusterState, EngineSeen, HostSeen, ImageSeen, NetworkSeen
from hvdocker.plan.plan import CONTROLLER, Plan, Stage
from tests.unit.builders import (
    ARM_ENGINE,
    CLIENT_KEY,
    ENGINE,
    GIB,
    HOST_KEYS,
    IMAGE,
    MAKER,
    OTHER_IMAGE,
    host_seen,
    host_with_worker,
    inventory,
    master,
    state_of,
    worker_as_created,
)

LAB = inventory("hosts: [a, b]")
WORKER = "hvdocker-lab-worker"
MEMBERS = (ClusterMember("a", "10.0.0.11", "hvd"), ClusterMember("b", "10.0.0.12", "hvd"))
BOTH = "a=10.0.0.11 b=10.0.0.12"
TOLD = tuple(WriteMembers(name, f"/home/{name}/.hvdocker/lab/{name}", BOTH) for name in "ab")


def up(wanted: Inventory, state: ClusterState, brought: str | None = None) -> Plan:
    return plan_up(wanted, state, plan_hosts(wanted, state), MAKER, brought)


def spec(wanted: Inventory, state: ClusterState, name: str):
    return worker_spec(wanted, plan_hosts(wanted, state)[name], MAKER)


def folders(name: str, members: str = "") -> MakeFolders:
    """Only a host without a worker gets the members with its folders."""
    root = f"/home/{name}/.hvdocker/lab/{name}"
    return MakeFolders(name, root, (f"{root}/code", f"{root}/jobs"), members=members)


def test_on_hosts_with_nothing_but_the_image() -> None:
    state = state_of(host_seen("a"), host_seen("b"))
    assert up(LAB, state) == Plan("up", "lab", (
        Stage("files", (MakeKeys(CONTROLLER, Trust("lab", 12345, MEMBERS, new_host_keys=("a", "b"))),)),
        Stage("files", (folders("a", BOTH), folders("b", BOTH))),
        Stage("containers", (
            CreateWorker("a", spec(LAB, state, "a"), "10.0.0.11", 12345),
            CreateWorker("b", spec(LAB, state, "b"), "10.0.0.12", 12345),
        ), follows_on=True),
        Stage("containers", (StartContainer("a", WORKER), StartContainer("b", WORKER)), follows_on=True),
        Stage("sshd", (
            AwaitSshd("a", WORKER, "10.0.0.11", 12345),
            AwaitSshd("b", WORKER, "10.0.0.12", 12345),
        ), follows_on=True),
        Stage("mesh", (CheckMesh("a", WORKER, ("a", "b")),)),
    ))  # fmt: skip


def test_a_second_up_has_nothing_to_do() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))
    assert up(LAB, state) == Plan("up", "lab", ())
    assert up(LAB, state).is_empty


def test_another_owner_with_another_version_has_nothing_to_do_either() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))
    other = replace(MAKER, owner="bob", version="9.9")
    assert plan_up(LAB, state, plan_hosts(LAB, state), other).is_empty


def all_replaced(verb: str, wanted: Inventory, state: ClusterState, reason: str) -> Plan:
    """Both workers are replaced, and so all keys."""
    return Plan(verb, "lab", (
        Stage("files", (MakeKeys(CONTROLLER, Trust("lab", 12345, MEMBERS, new_host_keys=("a", "b"))),)),
        Stage("files", (folders("a"), folders("b"))),
        Stage("containers", (
            RemoveContainer("a", WORKER, "id-a", reason),
            RemoveContainer("b", WORKER, "id-b", reason),
        )),
        Stage("containers", (
            CreateWorker("a", spec(wanted, state, "a"), "10.0.0.11", 12345),
            CreateWorker("b", spec(wanted, state, "b"), "10.0.0.12", 12345),
        ), follows_on=True),
        Stage("containers", TOLD, follows_on=True),
        Stage("containers", (StartContainer("a", WORKER), StartContainer("b", WORKER)), follows_on=True),
        Stage("sshd", (
            AwaitSshd("a", WORKER, "10.0.0.11", 12345),
            AwaitSshd("b", WORKER, "10.0.0.12", 12345),
        ), follows_on=True),
        Stage("mesh", (CheckMesh("a", WORKER, ("a", "b")),)),
    ))  # fmt: skip


def test_changed_settings_replace_the_worker() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))
    changed = inventory("hosts: [a, b]\nshm: 1GB\n")
    assert up(changed, state) == all_replaced("up", changed, state, "its settings changed")


def test_a_missing_worker_joins_and_the_others_learn_of_it() -> None:
    state = state_of(host_seen("a"), host_with_worker(LAB, "b"))
    trust = Trust(
        "lab",
        12345,
        MEMBERS,
        client_key_host="b",
        client_key_container=WORKER,
        known_host_keys={"b": HOST_KEYS["b"]},
        new_host_keys=("a",),
    )
    assert up(LAB, state) == Plan("up", "lab", (
        Stage("files", (MakeKeys(CONTROLLER, trust),)),
        Stage("files", (folders("a", BOTH),)),
        Stage("containers", (CreateWorker("a", spec(LAB, state, "a"), "10.0.0.11", 12345),), follows_on=True),
        Stage("containers", (RefreshTrust("b", WORKER, 1000, 1001),)),
        Stage("containers", TOLD[1:], follows_on=True),
        Stage("containers", (StartContainer("a", WORKER),)),
        Stage("sshd", (AwaitSshd("a", WORKER, "10.0.0.11", 12345),), follows_on=True),
        Stage("mesh", (CheckMesh("a", WORKER, ("a", "b")),)),
    ))  # fmt: skip


def test_a_host_that_left_the_inventory_is_trusted_no_more() -> None:
    lab = inventory("hosts: [a, c]")
    before = f"{BOTH} c=10.0.0.13"
    state = state_of(host_with_worker(lab, "a", members_line=before), host_with_worker(lab, "c", members_line=before))
    keys = {name: HOST_KEYS[name] for name in "ac"}
    members = (MEMBERS[0], ClusterMember("c", "10.0.0.13", "hvd"))
    now = "a=10.0.0.11 c=10.0.0.13"
    assert up(lab, state) == Plan(
        "up",
        "lab",
        (
            Stage("files", (MakeKeys(CONTROLLER, Trust("lab", 12345, members, "a", WORKER, None, keys)),)),
            Stage("containers", tuple(RefreshTrust(name, WORKER, 1000, 1001) for name in "ac")),
            Stage(
                "containers",
                tuple(WriteMembers(name, f"/home/{name}/.hvdocker/lab/{name}", now) for name in "ac"),
                follows_on=True,
            ),
        ),
        (
            "b is in the cluster no more, and trusted no more; what is on it stays. To clean it, put it back "
            "into the inventory and run hvdocker down; or there: docker rm -f hvdocker-lab-worker; "
            "rm -r ~/.hvdocker/lab/b",
        ),
    )
    told = state_of(host_with_worker(lab, "a", members_line=now), host_with_worker(lab, "c", members_line=now))
    assert up(lab, told) == Plan("up", "lab")


def test_a_host_of_the_inventory_that_got_no_slots_is_not_called_removed() -> None:
    lab = inventory("hosts: [a, b, c]")
    before = f"{BOTH} c=10.0.0.13"
    host_plans = plan_hosts(lab, state_of(*(host_with_worker(lab, name, members_line=before) for name in "abc")))
    without_b = {name: place for name, place in host_plans.items() if name != "b"}
    assert notes_on_removed_hosts(lab, without_b, ["a", "c"]) == []


def test_where_it_is_not_known_whom_workers_trust_they_are_left_alone() -> None:
    assert up(LAB, state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", members_line=BOTH))).is_empty


def test_an_exited_worker_is_only_started() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", state="exited"))
    assert up(LAB, state) == Plan("up", "lab", (
        Stage("containers", (StartContainer("b", WORKER),)),
        Stage("sshd", (AwaitSshd("b", WORKER, "10.0.0.12", 12345),), follows_on=True),
        Stage("mesh", (CheckMesh("a", WORKER, ("a", "b")),)),
    ))  # fmt: skip


@pytest.mark.parametrize("condition", ["created", "paused", "dead", "restarting", "removing"])
def test_a_worker_in_any_other_state_is_replaced(condition: str) -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", state=condition))
    removals = [step for step in up(LAB, state).steps if isinstance(step, RemoveContainer)]
    assert removals == [RemoveContainer("b", WORKER, "id-b", f"it is {condition}")]


def test_a_worker_of_an_older_image_is_replaced() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", image_id="sha256:old"))
    removals = [step for step in up(LAB, state).steps if isinstance(step, RemoveContainer)]
    assert removals == [RemoveContainer("b", WORKER, "id-b", "the image changed")]


def test_an_image_of_ours_that_is_nowhere_is_built_here() -> None:
    state = state_of(host_seen("a", image=None), host_seen("b", image=None), controller_engine=ENGINE)
    assert up(LAB, state).stages[:2] == (
        Stage("image", (BuildImage(CONTROLLER, "doc-hvd:cpu"),)),
        Stage("image", (
            ShipImage("a", "doc-hvd:cpu", CONTROLLER),
            ShipImage("b", "doc-hvd:cpu", CONTROLLER),
        )),
    )  # fmt: skip


@pytest.mark.parametrize("engine", [None, ARM_ENGINE], ids=["no engine here", "another architecture here"])
def test_an_image_that_cannot_be_built_here_is_built_on_the_first_host(engine: EngineSeen | None) -> None:
    state = state_of(host_seen("a", image=None), host_seen("b", image=None), controller_engine=engine)
    assert up(LAB, state).stages[:2] == (
        Stage("image", (BuildImage("a", "doc-hvd:cpu"),)),
        Stage("image", (ShipImage("b", "doc-hvd:cpu", "a"),)),
    )


def test_an_image_on_one_host_goes_to_the_others() -> None:
    lab = inventory("hosts: [a, b, c]")
    state = state_of(host_seen("a", image=None), host_seen("b"), host_seen("c", image=OTHER_IMAGE))
    assert up(lab, state).stages[0] == Stage("image", (
        ShipImage("a", "doc-hvd:cpu", "b", GIB),
        ShipImage("c", "doc-hvd:cpu", "b", GIB),
    ))  # fmt: skip


def test_this_machines_image_counts_first() -> None:
    state = state_of(host_seen("a", image=OTHER_IMAGE), host_seen("b"), controller_image=IMAGE)
    assert up(LAB, state).stages[0] == Stage("image", (ShipImage("a", "doc-hvd:cpu", CONTROLLER, GIB),))


def test_this_machines_image_does_not_count_where_the_hosts_could_not_run_it() -> None:
    foreign = replace(OTHER_IMAGE, architecture="arm64")
    state = state_of(host_seen("a"), host_seen("b", image=None), controller_image=foreign)
    assert up(LAB, state).stages[0] == Stage("image", (ShipImage("b", "doc-hvd:cpu", "a", GIB),))


def test_a_foreign_image_that_is_nowhere_is_an_error() -> None:
    lab = inventory("hosts: [a]\nimage: mine:latest\n")
    with pytest.raises(HvdockerError) as caught:
        up(lab, state_of(host_seen("a", image=None), controller_engine=ENGINE))
    assert caught.value.exit_code == ExitCode.ERROR
    assert caught.value.what == "the image mine:latest is on no host and not on this machine"
    assert caught.value.command == "docker image inspect mine:latest"


def test_an_engine_here_that_could_not_be_asked_is_named_where_the_image_is_missing() -> None:
    lab = inventory("hosts: [a]\nimage: mine:latest\n")
    state = replace(state_of(host_seen("a", image=None)), controller_problem="DOCKER_HOST is ssh://x")
    with pytest.raises(HvdockerError) as caught:
        up(lab, state)
    assert caught.value.lines == ("here: DOCKER_HOST is ssh://x", "a: no such image")


def test_an_image_without_our_programs_is_an_error() -> None:
    stranger = replace(IMAGE, is_ours=False)
    with pytest.raises(HvdockerError, match="not made for hvdocker") as caught:
        up(LAB, state_of(host_seen("a", image=stranger), host_seen("b")))
    assert caught.value.exit_code == ExitCode.ERROR


@pytest.mark.parametrize("where", ["a", CONTROLLER])
def test_an_image_of_the_wrong_architecture_is_refused(where: str) -> None:
    foreign = ImageSeen("sha256:f", "arm64", GIB, is_ours=True)
    on_host, here = (foreign, None) if where == "a" else (None, foreign)
    state = state_of(host_seen("a", image=on_host), host_seen("b", image=None), controller_image=here)
    with pytest.raises(HostUnfit) as caught:
        up(LAB, state)
    assert caught.value.what == f"the image doc-hvd:cpu on {where} is for arm64, the hosts are amd64"
    assert caught.value.exit_code == ExitCode.UNFIT


def test_hosts_of_different_architectures_are_refused() -> None:
    lab = inventory("hosts: [a, b, c]")
    state = state_of(host_seen("a"), host_seen("b", engine=ARM_ENGINE), host_seen("c"))
    with pytest.raises(HostUnfit) as caught:
        up(lab, state)
    assert str(caught.value) == "b: its CPU architecture is arm64, the other hosts are amd64"


def test_missing_mounts_are_named_for_every_host_at_once() -> None:
    state = state_of(host_seen("a", missing_paths=("/data",)), host_seen("b", missing_paths=("/data", "/more")))
    with pytest.raises(HostErrors) as caught:
        up(LAB, state)
    assert [str(error) for error in caught.value.errors] == [
        "a: the mount source /data is not there",
        "b: the mount source /data is not there",
        "b: the mount source /more is not there",
    ]
    assert caught.value.exit_code == ExitCode.UNFIT


def test_a_loopback_address_is_no_training_address_for_several_hosts() -> None:
    docker0 = ("127.0.0.1", "172.17.0.1")
    seen = host_seen("a", reached_at="127.0.0.1", addresses=(*docker0, "10.0.0.11"))
    state = state_of(seen, host_seen("b", addresses=(*docker0, "10.0.0.12")))
    with pytest.raises(HostUnfit, match=r"127\.0\.0\.1, which other hosts cannot reach") as caught:
        up(LAB, state)
    assert caught.value.fix == "give this host `address: 10.0.0.11`, or set `network:`"


def test_a_single_host_may_be_reached_by_loopback() -> None:
    alone = inventory("hosts: [a]")
    assert not up(alone, state_of(host_seen("a", reached_at="127.0.0.1"))).is_empty


def test_a_running_job_protects_its_worker() -> None:
    job = master("train-abcd", '{"b":1}')
    worker = worker_as_created(LAB, "b", host_seen("b"))
    state = state_of(host_with_worker(LAB, "a"), host_seen("b", containers=(worker, job)))
    with pytest.raises(HvdockerError) as caught:
        up(inventory("hosts: [a, b]\nshm: 1GB\n"), state)
    assert caught.value.what == "job train-abcd is running, and its worker on b would be replaced"
    assert caught.value.fix == "wait for it, or end it first: hvdocker stop train-abcd"
    assert caught.value.exit_code == ExitCode.ERROR


@pytest.mark.parametrize(
    "job",
    [master("train-abcd", '{"b":1}', state="exited"), master("train-abcd", '{"z":1}')],
    ids=["ended", "elsewhere"],
)
def test_a_job_that_is_not_hurt_stops_nothing(job) -> None:
    worker = worker_as_created(LAB, "b", host_seen("b"))
    state = state_of(host_with_worker(LAB, "a"), host_seen("b", containers=(worker, job)))
    assert not up(inventory("hosts: [a, b]\nshm: 1GB\n"), state).is_empty


def test_a_local_cluster_gets_a_network_and_shares_one_engine() -> None:
    local = inventory("local: 2\ncluster: lab\n")
    taken = NetworkSeen(None, ("198.18.200.0/24", "172.17.0.0/16", "fd00::/64"))
    state = state_of(host_seen("w1", image=None), host_seen("w2", image=None), network=taken, controller_engine=ENGINE)
    members = (ClusterMember("w1", "198.18.201.11", "hvd"), ClusterMember("w2", "198.18.201.12", "hvd"))
    line = "w1=198.18.201.11 w2=198.18.201.12"
    plan = up(local, state)
    assert plan.stages[:3] == (
        Stage("image", (BuildImage(CONTROLLER, "doc-hvd:cpu"),)),
        Stage("files", (
            MakeKeys(CONTROLLER, Trust("lab", 12345, members, new_host_keys=("w1", "w2"))),
            MakeNetwork(CONTROLLER, "hvdocker-lab", "198.18.201.0/24", "lab"),
        )),
        Stage("files", (
            MakeFolders("w1", "/home/w1/.hvdocker/lab/w1",
                        ("/home/w1/.hvdocker/lab/w1/code", "/home/w1/.hvdocker/lab/w1/jobs"), members=line),
            MakeFolders("w2", "/home/w2/.hvdocker/lab/w2",
                        ("/home/w2/.hvdocker/lab/w2/code", "/home/w2/.hvdocker/lab/w2/jobs"), members=line),
        )),
    )  # fmt: skip
    assert [step.spec.name for step in plan.steps if isinstance(step, CreateWorker)] == [
        "hvdocker-lab-worker-w1", "hvdocker-lab-worker-w2",
    ]  # fmt: skip


def test_a_local_cluster_keeps_its_network() -> None:
    local = inventory("local: 1\ncluster: lab\n")
    state = state_of(host_seen("w1"), network=NetworkSeen("198.18.207.0/24", ("198.18.207.0/24",)))
    plan = up(local, state)
    assert not [step for step in plan.steps if isinstance(step, MakeNetwork)]
    assert next(s for s in plan.steps if isinstance(s, AwaitSshd)).address == "198.18.207.11"


def test_a_brought_key_is_used_and_taken_from_no_host() -> None:
    brought = inventory("hosts: [a, b]\nkeys: {private: keys/mine, public: keys/mine.pub}\n")
    state = state_of(host_seen("a"), host_with_worker(brought, "b"))
    keys = next(step for step in up(brought, state, CLIENT_KEY).steps if isinstance(step, MakeKeys))
    assert keys.trust == Trust(
        "lab", 12345, MEMBERS, user_key_files=("keys/mine", "keys/mine.pub"),
        known_host_keys={"b": HOST_KEYS["b"]}, new_host_keys=("a",),
    )  # fmt: skip


def test_another_brought_key_replaces_every_worker() -> None:
    brought = inventory("hosts: [a, b]\nkeys: {private: keys/mine, public: keys/mine.pub}\n")
    state = state_of(host_with_worker(brought, "a"), host_with_worker(brought, "b"))
    assert up(brought, state, CLIENT_KEY).is_empty
    removals = [step for step in up(brought, state, "ssh-ed25519 NEW").steps if isinstance(step, RemoveContainer)]
    assert removals == [
        RemoveContainer("a", WORKER, "id-a", "the client key changed"),
        RemoveContainer("b", WORKER, "id-b", "the client key changed"),
    ]


def test_folders_of_another_users_containers_are_open() -> None:
    other = inventory("hosts: [a]\nuser: 2000:2000\n")
    made = [step for step in up(other, state_of(host_seen("a"))).steps if isinstance(step, MakeFolders)]
    assert [step.is_shared for step in made] == [True]


def with_client_key(name: str, key: str) -> HostSeen:
    host = host_with_worker(LAB, name)
    worker = replace(host.containers[0], labels={**host.containers[0].labels, "hvdocker.clientkey": key})
    return replace(host, containers=(worker,))


def test_workers_that_share_no_client_key_are_all_replaced_with_another() -> None:
    """As a rotation of keys leaves them that was cut off: nobody can tell which key is the old one."""
    state = state_of(with_client_key("a", "ssh-ed25519 NEW"), with_client_key("b", "ssh-ed25519 OLD"))
    plan = up(LAB, state)
    assert [step for step in plan.steps if isinstance(step, RemoveContainer)] == [
        RemoveContainer("a", WORKER, "id-a", "a rotation of keys was cut off"),
        RemoveContainer("b", WORKER, "id-b", "a rotation of keys was cut off"),
    ]
    (made,) = [step for step in plan.steps if isinstance(step, MakeKeys)]
    assert made.trust == Trust("lab", 12345, MEMBERS, new_host_keys=("a", "b"))


def test_a_worker_that_goes_anyway_makes_no_discord() -> None:
    lab = inventory("hosts: [a, b, c]")
    gone = replace(with_client_key("b", "ssh-ed25519 OLD"))
    paused = replace(gone, containers=(replace(gone.containers[0], state="paused"),))
    plan = up(lab, state_of(host_with_worker(lab, "a"), paused, host_with_worker(lab, "c")))
    removals = [step for step in plan.steps if isinstance(step, RemoveContainer)]
    assert removals == [RemoveContainer("b", WORKER, "id-b", "it is paused")]
    (made,) = [step for step in plan.steps if isinstance(step, MakeKeys)]
    assert made.trust.client_key_host == "a"


def test_a_first_up_that_takes_every_free_gpu_says_so_with_the_polite_form() -> None:
    cards = {name: tuple(GpuSeen(n, f"GPU-{name}{n}", "T4", 15079) for n in range(4)) for name in "ab"}
    state = state_of(*(host_seen(name, gpus=cards[name]) for name in "ab"))
    assert up(LAB, state).notes == (
        "takes all 8 GPUs that are free on 2 hosts, until hvdocker down; "
        "to leave some to others, take fewer: hvdocker up -np 4",
    )
    host_plans = {name: replace(place, request_label='{"np":8}') for name, place in plan_hosts(LAB, state).items()}
    assert plan_up(LAB, state, host_plans, MAKER).notes == ()
    assert plan_up(LAB, state, plan_hosts(LAB, state), replace(MAKER, run="abcd")).notes == ()
    again = state_of(*(host_with_worker(LAB, name, gpus=cards[name]) for name in "ab"))
    assert up(LAB, again).notes == ()
    assert up(LAB, state_of(host_seen("a"), host_seen("b"))).notes == ()
