"""What `up` does for jobs that run: hosts that come back, new ones that join, and whose slots these are."""

from dataclasses import replace

import pytest

from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.cluster.steps import (
    AwaitSshd,
    CheckMesh,
    CreateWorker,
    JoinJob,
    MakeFolders,
    MakeKeys,
    RefreshTrust,
    RemoveContainer,
    StartContainer,
    Trust,
    UpdateMaster,
    WriteMembers,
)
from hvdocker.cluster.unreachable_host import UnreachableHost
from hvdocker.errors import HvdockerError, NotEnoughSlots
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.secrets.plan import steps_after_stop, steps_for_ended_jobs
from hvdocker.jobs.secrets.steps import OverwriteSecrets, RemoveSecrets
from hvdocker.observe.gpu import GpuSeen
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.placement.gpus import gpu_report
from hvdocker.placement.leases import job_leases
from hvdocker.placement.offers import offers_to_job
from hvdocker.placement.scope import full_scope
from hvdocker.placement.slots import HeldSlots, Offer, Slot, SlotRequest
from hvdocker.placement.strategies import place
from hvdocker.plan.plan import CONTROLLER, Plan, Stage
from hvdocker.protocol.job_file import JobHost
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import (
    HOST_KEYS,
    IMAGE,
    MAKER,
    host_seen,
    host_with_worker,
    inventory,
    master,
    state_of,
)

LAB = inventory("hosts: [a, b, {host: c, slots: 3}]\nport: 12345\nimage: doc-hvd:cpu\n")
PAIR = inventory("hosts: [a, b]\nport: 12345\nimage: doc-hvd:cpu\n")
WORKER, MASTER, JOB = "hvdocker-lab-worker", "hvdocker-lab-train-abcd", "train-abcd"
MEMBERS = tuple(ClusterMember(name, f"10.0.0.1{n}", "hvd") for n, name in enumerate("abc", start=1))
ALL = "a=10.0.0.11 b=10.0.0.12 c=10.0.0.13"
TOLD = tuple(WriteMembers(name, f"/home/{name}/.hvdocker/lab/{name}", ALL) for name in "ab")
A, B = JobHost("a", "10.0.0.11", 1), JobHost("b", "10.0.0.12", 1)
REFRESHED = (RefreshTrust("a", WORKER, 1000, 1001), RefreshTrust("b", WORKER, 1000, 1001))


def up(wanted: Inventory, state: ClusterState, *absent: UnreachableHost) -> Plan:
    host_plans = plan_hosts(wanted, state, full_scope(wanted, state))
    return plan_up(wanted, state, host_plans, MAKER, unreachable={one.name: one for one in absent})


def running(host: HostSeen, *masters: ContainerSeen) -> HostSeen:
    return replace(host, containers=(*host.containers, *masters))


def two(*masters: ContainerSeen, wanted: Inventory = LAB) -> tuple[HostSeen, HostSeen]:
    """Two hosts of the cluster, with these masters on the first."""
    return running(host_with_worker(wanted, "a"), *masters), host_with_worker(wanted, "b")


def elastic(most: str = "4", placement: str = '{"a":1,"b":1}', job: str = JOB, **more: str) -> ContainerSeen:
    return master(job, placement, elastic=f"1:{most}", **more)


def joined(host: HostSeen, job: str = JOB, slots: int = 2, state: str = "running") -> HostSeen:
    """The same host, whose worker was made for a job that ran."""
    worker, *rest = host.containers
    labels = {**worker.labels, "hvdocker.joined": job, "hvdocker.share": str(slots)}
    return replace(host, containers=(replace(worker, labels=labels, state=state), *rest))


def trust(known: str, new: str, client: str = "a") -> Trust:
    keys = {name: HOST_KEYS[name] for name in known}
    return Trust("lab", 12345, MEMBERS, client, WORKER, None, keys, tuple(new))


def join_of(name: str, slots: int, **more: object) -> JoinJob:
    home, address = f"/home/{name}/.hvdocker/lab/{name}", f"10.0.0.1{'abc'.index(name) + 1}"
    return JoinJob(
        name, JOB, "a", "/home/a/.hvdocker/lab/a", home, JobHost(name, address, slots), MASTER, WORKER,
        1000, 1001, **more,
    )  # fmt: skip


def made(plan: Plan) -> dict[str, ContainerSeen]:
    """The workers that a plan makes, as they are seen afterwards."""
    steps = [step for step in plan.steps if isinstance(step, CreateWorker)]
    keys = {"hvdocker.clientkey": "ssh-ed25519 CLIENTKEY"}
    return {
        step.host: ContainerSeen(
            f"id-{step.host}", step.spec.name, "running", IMAGE.id, {**step.spec.all_labels(), **keys}
        )
        for step in steps
    }


def test_a_new_host_joins_an_elastic_job_before_its_worker_starts() -> None:
    state = state_of(*two(elastic()), host_seen("c"))
    spec = worker_spec(LAB, plan_hosts(LAB, state)["c"], MAKER)
    told = {**spec.labels, "hvdocker.joined": JOB, "hvdocker.share": "2"}
    root = "/home/c/.hvdocker/lab/c"
    assert up(LAB, state) == Plan("up", "lab", (
        Stage("files", (MakeKeys(CONTROLLER, trust("ab", "c")),)),
        Stage("files", (MakeFolders("c", root, (f"{root}/code", f"{root}/jobs"), members=ALL),)),
        Stage("containers", (CreateWorker("c", replace(spec, labels=told), "10.0.0.13", 12345),), follows_on=True),
        Stage("containers", REFRESHED),
        Stage("containers", TOLD, follows_on=True),
        Stage("join", (join_of("c", 2),), follows_on=True),
        Stage("join", (UpdateMaster("a", MASTER, 1000, 1001, (A, B, JobHost("c", "10.0.0.13", 2))),)),
        Stage("containers", (StartContainer("c", WORKER),)),
        Stage("sshd", (AwaitSshd("c", WORKER, "10.0.0.13", 12345),), follows_on=True),
        Stage("mesh", (CheckMesh("a", WORKER, ("a", "b", "c")),)),
    ))  # fmt: skip


def test_a_second_up_has_nothing_to_do_while_the_job_runs_and_when_it_is_over() -> None:
    first = state_of(*two(elastic()), host_seen("c"))
    worker = made(up(LAB, first))["c"]
    state = state_of(*two(elastic()), host_seen("c", containers=(worker,)))
    assert up(LAB, state) == Plan("up", "lab")
    over = state_of(*two(elastic(state="exited")), host_seen("c", containers=(worker,)))
    assert up(LAB, over) == Plan("up", "lab")


DEAD = UnreachableHost(MEMBERS[1], HOST_KEYS["b"], {JOB: 1})
MISSED = "b does not answer, and is left as it is: train-abcd goes on without it until it is back"


def test_a_new_host_joins_in_place_of_one_that_is_dead() -> None:
    """That one is trusted as before, and stays a host of the job: it may come back."""
    before = "a=10.0.0.11 b=10.0.0.12"
    a = running(host_with_worker(LAB, "a", members_line=before), elastic("2"))
    state = state_of(a, host_seen("c"))
    spec = worker_spec(LAB, plan_hosts(LAB, state)["c"], MAKER)
    told = {**spec.labels, "hvdocker.joined": JOB, "hvdocker.share": "1"}
    root = "/home/c/.hvdocker/lab/c"
    assert up(LAB, state, DEAD) == Plan("up", "lab", (
        Stage("files", (MakeKeys(CONTROLLER, trust("ab", "c")),)),
        Stage("files", (MakeFolders("c", root, (f"{root}/code", f"{root}/jobs"), members=ALL),)),
        Stage("containers", (CreateWorker("c", replace(spec, labels=told), "10.0.0.13", 12345),), follows_on=True),
        Stage("containers", REFRESHED[:1]),
        Stage("containers", TOLD[:1], follows_on=True),
        Stage("join", (join_of("c", 1),), follows_on=True),
        Stage("join", (UpdateMaster("a", MASTER, 1000, 1001, (A, JobHost("c", "10.0.0.13", 1), B)),)),
        Stage("containers", (StartContainer("c", WORKER),)),
        Stage("sshd", (AwaitSshd("c", WORKER, "10.0.0.13", 12345),), follows_on=True),
        Stage("mesh", (CheckMesh("a", WORKER, ("a", "c")),)),
    ), notes=(MISSED,))  # fmt: skip


def test_a_host_that_is_dead_is_no_reason_to_do_anything() -> None:
    a = running(host_with_worker(PAIR, "a", members_line="a=10.0.0.11 b=10.0.0.12"), elastic())
    assert up(PAIR, state_of(a), DEAD) == Plan("up", "lab", notes=(MISSED,))


def test_without_a_bound_all_its_slots_join() -> None:
    plan = up(LAB, state_of(*two(elastic(most="")), host_seen("c")))
    assert [step for step in plan.steps if isinstance(step, JoinJob)] == [join_of("c", 3)]


def test_a_host_that_lost_its_worker_gets_what_lay_in_it_and_the_master_its_key() -> None:
    job = elastic(secrets="TOKEN,CERT")
    state = state_of(running(host_with_worker(LAB, "a"), job), host_seen("b"), host_with_worker(LAB, "c"))
    plan = up(LAB, state)
    assert plan.stages[5:7] == (
        Stage("join", (join_of("b", 1, secrets=("TOKEN", "CERT"), is_new=False),), follows_on=True),
        Stage("join", (UpdateMaster("a", MASTER, 1000, 1001, (A, B)),)),
    )
    assert "hvdocker.joined" not in made(plan)["b"].labels
    assert plan.notes == ()


def test_a_job_that_is_not_elastic_learns_keys_and_gets_no_hosts() -> None:
    job = master(JOB, '{"a":1,"b":1}')
    state = state_of(running(host_with_worker(LAB, "a"), job), host_seen("b"), host_seen("c"))
    steps = [step for step in up(LAB, state).steps if isinstance(step, JoinJob | UpdateMaster)]
    assert steps == [join_of("b", 1, is_new=False), UpdateMaster("a", MASTER, 1000, 1001)]


def test_a_head_that_lost_its_worker_still_runs_its_ranks_in_the_master() -> None:
    state = state_of(host_seen("a", containers=(elastic(),)), host_with_worker(LAB, "b"), host_with_worker(LAB, "c"))
    steps = [step for step in up(LAB, state).steps if isinstance(step, JoinJob | UpdateMaster)]
    assert steps == [UpdateMaster("a", MASTER, 1000, 1001, (A, B))]


def test_a_host_that_joined_and_lost_its_worker_joins_again() -> None:
    c = joined(host_with_worker(LAB, "c"), state="created")
    plan = up(LAB, state_of(*two(elastic()), c))
    assert RemoveContainer("c", WORKER, "id-c", "it is created") in list(plan.steps)
    assert [step for step in plan.steps if isinstance(step, JoinJob)] == [join_of("c", 2)]


def test_an_up_that_was_cut_off_is_mended_while_the_job_runs() -> None:
    """Its worker was made and never started: it is nobody's, and the job is not hurt when it goes."""
    state = state_of(running(host_with_worker(PAIR, "a"), elastic()), host_with_worker(PAIR, "b", state="created"))
    plan = up(PAIR, state)
    assert RemoveContainer("b", WORKER, "id-b", "it is created") in list(plan.steps)
    assert [step.host for step in plan.steps if isinstance(step, JoinJob)] == ["b"]


def test_a_host_in_place_of_one_that_left_the_inventory() -> None:
    wanted = inventory("hosts: [a, {host: c, slots: 3}]\nport: 12345\nimage: doc-hvd:cpu\n")
    state = state_of(running(host_with_worker(wanted, "a"), elastic("2")), host_seen("c"))
    (told,) = [step for step in up(wanted, state).steps if isinstance(step, UpdateMaster)]
    assert told.job_hosts == (A, JobHost("c", "10.0.0.13", 1))


def test_an_elastic_job_does_without_a_host_that_left_the_inventory() -> None:
    wanted = inventory("hosts: [a, c]\nport: 12345\nimage: doc-hvd:cpu\n")
    before = "a=10.0.0.11 b=10.0.0.12 c=10.0.0.13"
    job = elastic(placement='{"a":1,"b":1,"c":1}')
    a = running(host_with_worker(wanted, "a", members_line=before), job)
    plan = up(wanted, state_of(a, host_with_worker(wanted, "c", members_line=before)))
    job_hosts = (A, JobHost("c", "10.0.0.13", 1))
    assert plan.stages[-1] == Stage("join", (UpdateMaster("a", MASTER, 1000, 1001, job_hosts),))
    assert not [step for step in plan.steps if isinstance(step, CreateWorker | JoinJob)]


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (elastic("2"), "it has as many ranks as it may have"),
        (elastic(requirements="k"), "it runs with requirements, which a new worker lacks"),
        (replace(elastic(), image_id="sha256:old"), "it runs another image than new workers do"),
        (
            elastic(placement='{"a":["GPU-1"],"b":["GPU-2"]}'),
            "it runs on GPUs, and the host has none to give",
        ),
    ],
    ids=["full", "requirements", "image", "gpus"],
)
def test_why_a_new_host_does_not_join(job: ContainerSeen, why: str) -> None:
    plan = up(LAB, state_of(*two(job), host_seen("c")))
    assert plan.notes == (f"c does not join train-abcd: {why}",)
    assert "hvdocker.joined" not in made(plan)["c"].labels
    (told,) = [step for step in plan.steps if isinstance(step, UpdateMaster)]
    assert told.job_hosts == (A, B)


def test_requirements_do_not_come_back_with_a_host() -> None:
    job = elastic(requirements="k")
    plan = up(PAIR, state_of(running(host_with_worker(PAIR, "a"), job), host_seen("b")))
    assert plan.notes == ("b does not come back to train-abcd: it runs with requirements, which a new worker lacks",)
    steps = [step for step in plan.steps if isinstance(step, JoinJob | UpdateMaster)]
    assert steps == [UpdateMaster("a", MASTER, 1000, 1001, (A,))]


def test_the_oldest_job_with_room_is_joined_first_and_the_next_host_goes_to_the_next() -> None:
    wanted = inventory("hosts: [a, b, c, d]\nport: 12345\nimage: doc-hvd:cpu\n")
    older, younger = (
        elastic("2", '{"a":1}', "old-aaaa", created=1),
        elastic("9", '{"b":1}', "new-bbbb", created=7),
    )
    state = state_of(
        running(host_with_worker(wanted, "a"), older, younger),
        host_with_worker(wanted, "b"),
        host_seen("c"),
        host_seen("d"),
    )
    joins = [(step.host, step.job) for step in up(wanted, state).steps if isinstance(step, JoinJob)]
    assert sorted(joins) == [("c", "old-aaaa"), ("d", "new-bbbb")]


def grown(**how: str) -> ClusterState:
    return state_of(*two(elastic(**how)), joined(host_with_worker(LAB, "c")))


def test_what_joined_a_job_is_the_jobs_for_as_long_as_it_runs() -> None:
    state = grown()
    (job,) = state.masters()
    assert state.placement_of(job) == Placement((Share("a", 1), Share("b", 1), Share("c", 2)))
    offers = offers_to_job(LAB, state, plan_hosts(LAB, state))
    assert offers[2] == Offer("c", (Slot(),), (HeldSlots("train-abcd of ?", 2),))
    with pytest.raises(NotEnoughSlots):
        place(SlotRequest(np=2), offers, {})
    slots = gpu_report(LAB, state, {}).hosts[2].cpu_slots
    assert slots and slots.held == {JOB: 2} and slots.free == 1
    over = grown(state="exited")
    assert offers_to_job(LAB, over, plan_hosts(LAB, over))[2] == Offer("c", (Slot(), Slot(), Slot()))


def test_a_worker_that_joined_is_spared_like_any_other() -> None:
    changed = inventory("hosts: [a, b, {host: c, slots: 2}]\nport: 12345\nimage: doc-hvd:cpu\n")
    with pytest.raises(HvdockerError, match="train-abcd is running, and its worker on c would be replaced"):
        up(changed, grown())


def test_gpus_that_joined_a_job_are_leased_by_it() -> None:
    wanted = inventory("hosts: [a, c]\nport: 12345\nimage: doc-hvd:cpu\n")
    cards = {name: tuple(GpuSeen(n, f"GPU-{name}{n}", "T4", 15079) for n in range(2)) for name in "ac"}
    job = elastic("3", '{"a":["GPU-a0","GPU-a1"]}')
    a = running(host_with_worker(wanted, "a", gpus=cards["a"]), job)
    state = state_of(a, host_seen("c", gpus=cards["c"]))
    plan = up(wanted, state)
    (step,) = [step for step in plan.steps if isinstance(step, JoinJob)]
    assert (step.job_host.slots, step.devices) == (1, ("GPU-c0",))
    after = state_of(a, host_seen("c", gpus=cards["c"], containers=(made(plan)["c"],)))
    assert {device: leases[0].job for device, leases in job_leases(after.hosts.values()).items()} == {
        "GPU-a0": JOB, "GPU-a1": JOB, "GPU-c0": JOB,
    }  # fmt: skip
    assert [len(offer.free) for offer in offers_to_job(wanted, after, plan_hosts(wanted, after))] == [0, 1]
    assert up(wanted, after) == Plan("up", "lab")


def test_secrets_are_looked_for_where_a_host_joined() -> None:
    job = replace(elastic(secrets="TOKEN", state="exited"), exit_code=137)
    state = state_of(*two(job), joined(host_with_worker(LAB, "c")))
    expected = [
        OverwriteSecrets("a", MASTER, JOB, ("TOKEN",)),
        RemoveSecrets("b", WORKER, (JOB,)),
        RemoveSecrets("c", WORKER, (JOB,)),
    ]
    assert steps_for_ended_jobs(plan_hosts(LAB, state), state) == expected
    assert steps_after_stop("a", job, state.workers().values()) == expected
