"""Plan a `train` once the slots are chosen: the same code and files on every host, then one master. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hvdocker.cluster.plan.addresses import moved_worker_problem
from hvdocker.cluster.steps import MakeFolders, StartContainer
from hvdocker.errors import HostUnfit, HvdockerError, raise_all
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.capsule.capsule import CAPSULE_FILE, CapsuleFiles
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.secrets.plan import steps_to_put_secrets
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.scope_label import expected_slots, up_command
from hvdocker.plan.plan import Plan, Stage, Step, plan_of
from hvdocker.sync.steps import SyncCode
from hvdocker.training.plan.master_container import master_spec
from hvdocker.training.steps import CreateMaster, WriteJobFile, WritePatch


def plan_train(
    inventory: Inventory,
    host_plans: Mapping[str, HostPlan],
    maker: Maker,
    job: JobSpec,
    source: str | None,
    image: str | None = None,
    checksum: bool = False,
    tidying: Sequence[Step] = (),
    capsule: CapsuleFiles | None = None,
) -> Plan:
    """Return the plan that starts the job. `host_plans` has what was planned for the containers of each host; `maker`
    (the owner and the version of hvdocker) goes into the labels of the master.

    `source` is the folder to sync, None to sync nothing. `checksum` makes the sync compare all files by content.
    `image` is the image of the master, None for the inventory's. It should be that of the head's worker, because ranks
    of the head run in the master. `tidying` are steps that remove secrets of ended jobs. `capsule` has the job's
    capsule and patch, None to store none."""
    used = [host_plans[name] for name in job.placement.hosts]
    head = host_plans[job.placement.head]
    folders = {place.name: f"{place.folder}/jobs/{job.job}" for place in used}
    spec = master_spec(replace(inventory, image=image or inventory.image), head, maker, job)
    return plan_of(
        "train",
        inventory.cluster,
        ("code", [
            SyncCode(place.name, source, f"{place.folder}/code", place.needs_open_folders, checksum)
            for place in used if source
        ]),
        Stage("secrets", tuple(tidying), follows_on=True),
        Stage("files", tuple(
            MakeFolders(
                name, folder, (folder, f"{folder}/out", f"{folder}/logs"), host_plans[name].needs_open_folders
            )
            for name, folder in folders.items()
        ), follows_on=True),
        Stage("files", tuple(
            WriteJobFile(
                name, folder, job.for_host(name), host_plans[name].needs_open_folders, job.env_from_caller
            )
            for name, folder in folders.items()
        ), follows_on=True),
        Stage("files", tuple(_capsule_steps(capsule, folders) if capsule else ()), follows_on=True),
        Stage("master", (
            CreateMaster(
                head.name, spec, head.worker_name, job.launcher_preview, job.command, job.launcher_choice
            ),
        ), follows_on=True),
        # Secrets come after the master is created, because its label lists them. By this label the secrets that an
        # interrupted run leaves are found.
        ("secrets", steps_to_put_secrets(inventory, host_plans, job)),
        # Last: the job starts when every host has the code, the job's file and its secrets.
        ("master", [StartContainer(head.name, spec.name)]),
    )  # fmt: skip


def _capsule_steps(files: CapsuleFiles, folders: Mapping[str, str]) -> Iterator[Step]:
    """Yield the steps that write the capsule and its patch into the job's folder on each host. A large patch is written
    on the head only (`files.patch_on`). `folders` has the path of the job's folder by host.

    If the plan is printed as a shell script, the script does not contain the values of variables from the caller's
    environment, but reads them when it runs. Values that the capsule replaces by stars are stars in the script too."""
    capsule = files.capsule
    shown = tuple(name for name in capsule.env_from_caller if name not in capsule.hidden())
    for name, folder in folders.items():
        yield WriteJobFile(name, folder, capsule.text(), from_caller=shown, name=CAPSULE_FILE)
        if patch := files.patch_on(name):
            yield WritePatch(name, folder, patch)


def check_workers(
    inventory: Inventory,
    host_plans: Mapping[str, HostPlan],
    state: ClusterState,
    flag: str = "",
    may_miss: bool = False,
) -> None:
    """Raise HvdockerError unless the workers of the cluster exist with the requested slots, all of them run, and their
    hosts have the addresses that the workers were made with. `host_plans` has the host plans by host.

    With `may_miss` it is enough that one worker exists. `flag` is what suggested commands need to name the cluster,
    such as ` --cluster NAME`, or empty."""
    workers = state.workers()
    if not workers:
        raise HvdockerError(
            f"the cluster {inventory.cluster} is not up: no worker was found on {', '.join(state.hosts)}",
            fix=f"hvdocker up{flag}",
        )
    if may_miss:
        return
    asked = next((place.request_label for place in host_plans.values()), "")
    wanted, there = expected_slots(asked) or 0, sum(place.slots for place in host_plans.values())
    if wanted and there != wanted:
        what = "workers of the cluster are missing" if there < wanted else "a worker is left of before"
        raise HostUnfit(
            f"{what}: it was asked for {wanted} slots, and has {there}",
            lines=[f"{place.name}: {place.slots}" for place in host_plans.values()],
            fix=f"{up_command(asked)}{flag}",
        )
    errors: list[HvdockerError] = [
        HostUnfit(
            "its worker is not there" if name not in workers else f"its worker is {workers[name].state}",
            host=name,
            fix=f"{up_command(asked)}{flag}",
        )
        for name in host_plans
        if name not in workers or not workers[name].is_running
    ]
    raise_all("some workers are not running", errors)
    moved = [
        moved_worker_problem(place.host, place.seen, f"{up_command(asked)}{flag}", place.address)
        for place in host_plans.values()
    ]
    raise_all("some hosts have another address now", [problem for problem in moved if problem])


def usable_host_plans(host_plans: Mapping[str, HostPlan], state: ClusterState, job: str) -> dict[str, HostPlan]:
    """Return the host plans of the hosts on which a job that lost its head can be placed again. `job` is its id, and
    `host_plans` has the plans of all hosts by host.

    Such a host has a running worker and no earlier master of the job. An earlier master would have the same
    container name as the new one."""
    workers = state.workers()
    had = {state.host_of(master) for master in state.masters() if master.job == job}
    return {
        name: place
        for name, place in host_plans.items()
        if name in workers and workers[name].is_running and name not in had
    }
