"""The verb `run`: runs one job on a cluster of its own. Checks the hosts, then calls `up`, `train` and `down`.

The results are fetched before the cluster is removed. If something fails, the cluster is removed too, or the report
names the command that removes it. If a job was started and its end was not seen, nothing is removed, because the job
may still be running.

Each verb opens its own connections, so that a link that breaks while the job runs does not affect the verbs after it.
Every container of a `run` has the label `hvdocker.run` with a token. While the `run` command is alive, it renews a
ticket with that token on the hosts (run_heartbeat.py). `gc` removes the containers of a `run` that has no live
ticket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from hvdocker import names
from hvdocker.cluster.down import DownOptions, DownReport, down
from hvdocker.cluster.up import UpOptions, UpReport, check_keep, up
from hvdocker.doctor.preflight import run_preflight
from hvdocker.env import Env
from hvdocker.errors import HeadLost, HostErrors, HvdockerError, Interrupted, JobFailed, JobStopped
from hvdocker.events import Event
from hvdocker.hooks.hooks import Hooks
from hvdocker.inventory.locate import Located, with_cluster_name
from hvdocker.inventory.state_folder import check_state_is_writable
from hvdocker.jobs.fetch import FetchReport, fetch
from hvdocker.jobs.outcome import raise_unless_succeeded
from hvdocker.launchers.choose import known_launcher
from hvdocker.locks.lock import make_claim
from hvdocker.placement.slot_flags import slot_request
from hvdocker.placement.slots import SlotRequest
from hvdocker.plan.plan import Plan
from hvdocker.training.choose_slots import as_pool, note_fewer_ranks
from hvdocker.training.cleanup_ctrl_c import SecondCtrlC, finish_despite_ctrl_c
from hvdocker.training.inputs.request import JobInputs, TrainRequest, prepare_inputs
from hvdocker.training.report import Started, TrainReport, Viewer
from hvdocker.training.run_heartbeat import run_heartbeat
from hvdocker.training.train import train
from hvdocker.training.train_hooks import TrainHooks
from hvdocker.units import pluralize

if TYPE_CHECKING:
    from hvdocker.jobs.results.merge import FetchedFiles

# The least limit of the wait for locks when the cluster is removed. Other commands hold a lock only for seconds.
CLEANUP_LOCK_WAIT_S = 120.0


@dataclass
class RunReport:
    """How a `hvdocker run` ended.

    `located` is the cluster of this `run`. `job` is the id of the job, empty if none was started. `train` is the
    report of `train`, None if it did not return. `fetched` is what was fetched of the job's results, None if nothing
    was. `error` is the error of `up`, `train` or the job. `cleanup_error` is the error of fetching the results or
    removing the cluster afterwards. `is_kept` means that the cluster still exists, `is_asked_to_keep` that `--keep`
    is the reason. `may_be_running` means that the job was started and its end was not seen. `planned` is the report
    of `up` in a dry run."""

    located: Located
    job: str = ""
    train: TrainReport | None = None
    fetched: FetchedFiles | None = None
    error: BaseException | None = None
    cleanup_error: HvdockerError | None = None
    is_kept: bool = False
    is_asked_to_keep: bool = False
    may_be_running: bool = False
    planned: UpReport | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of the job. Empty unless `train` returned a report."""
        return self.train.placement.hosts if self.train else ()

    @property
    def folder(self) -> Path:
        return self.located.jobs / self.job

    @property
    def logs_command(self) -> str:
        return f"hvdocker logs -f {self.job}{self.located.flag}"

    @property
    def down_command(self) -> str:
        return f"hvdocker down{self.located.flag}"

    @property
    def leftover_hint(self) -> str | None:
        """A hint for the user with the commands that watch the job or remove the cluster. None if nothing is left on
        hosts."""
        if self.may_be_running:
            then = f"then give everything back: {self.down_command}"
            return f"the job may go on; watch it: {self.logs_command}; {then}"
        if self.cleanup_error and not self.is_asked_to_keep:
            return f"not everything was given back; do it with: {self.down_command}"
        if self.is_kept:
            look = f"look: {self.logs_command}; " if self.job else ""
            return f"{look}give it back: {self.down_command}"
        return None


@dataclass(frozen=True)
class RunVerbs:
    """The functions that a `hvdocker run` calls. Tests replace them. `check` examines the hosts before anything is
    created. `heartbeat` renews the tickets of the `run` on the hosts. `up`, `train`, `fetch` and `down` are the verbs
    with these names."""

    check: Callable[..., SlotRequest | None] = run_preflight
    heartbeat: Callable[..., AbstractContextManager[None]] = run_heartbeat
    up: Callable[..., UpReport] = up
    train: Callable[..., TrainReport] = train
    fetch: Callable[..., FetchReport] = fetch
    down: Callable[..., DownReport] = down


def run(
    env: Env,
    located: Located,
    request: TrainRequest,
    keep: str,
    viewer: Viewer,
    verbs: RunVerbs = RunVerbs(),
    hooks: Hooks | None = None,
) -> RunReport:
    """Run one job on a cluster of its own, and return how it ended. `hooks` are the user's hooks, None for none.
    `verbs` has the functions that are called; only tests pass others.

    Raises HvdockerError only if nothing was created on a host yet. Later errors are in the report. `keep` is the value
    of `--keep`: never, failed or always. It says when the cluster is kept after the job."""
    check_keep(keep)
    if not request.is_dry_run:
        check_state_is_writable(located)
    inputs = prepare_inputs(env, located, request)
    own = with_cluster_name(env, located, names.run_cluster(located.inventory.cluster, env.entropy(4)))
    claim = make_claim(env, own, "run")
    env = replace(env, run=claim.token)
    wanted = verbs.check(env, own, request.accept_new_host_keys, _slot_request(own, inputs))
    options = _up_options(request, keep, wanted)
    if request.is_dry_run:
        return RunReport(own, planned=verbs.up(env, own, options, viewer.plan, viewer.explained))
    hooks = hooks.for_cluster(own) if hooks else Hooks(env, own, "run", is_skipped=True)
    report: RunReport | None = None
    try:
        with verbs.heartbeat(env, own, claim, _slots_text(request), wanted.exclude if wanted else ()):
            report = _Run(env, own, _on_all_slots(own, inputs), keep, viewer, options, verbs, hooks).execute()
    except KeyboardInterrupt:
        # If there is a report, Ctrl-C came while the tickets were removed. Tickets expire by themselves, so the
        # report is returned nevertheless.
        if report is None:
            raise
    assert report is not None, "a run that ended has a report"
    return report


def final_error(report: RunReport) -> BaseException | None:
    """Return the error with which the `run` command exits, None if there was none.

    If something is left on hosts, the error's `fix` becomes the hint how to remove it. Otherwise, if the job failed,
    commands in `fix` that read logs from hosts are replaced by the paths of the fetched logs."""
    error = report.error or report.cleanup_error
    if can_take_fix(error) and report.leftover_hint and report.down_command not in (error.fix or ""):
        error.fix = report.leftover_hint
    elif isinstance(error, JobFailed) and report.fetched and error.fix:
        error.fix = _with_local_logs(error.fix, report)
    return error


def _with_local_logs(fix: str, report: RunReport) -> str:
    """Return `fix` (a hint of an error) with commands that read logs from hosts replaced by the paths of the fetched
    logs."""
    job, logs = f"{report.job}{report.located.flag}", report.folder / "logs"
    return fix.replace(f"hvdocker logs {job}", str(logs / "output.log")).replace(
        f"hvdocker fetch {job}, then logs/", f"{logs}/"
    )


def can_take_fix(error: BaseException | None) -> TypeGuard[HvdockerError]:
    """Return whether `fix`, the hint for the user, can be set on the error. It cannot be set on HostErrors, which show
    the `fix` of each host, nor on an exception that is not an HvdockerError."""
    return isinstance(error, HvdockerError) and not isinstance(error, HostErrors)


def _slot_request(located: Located, inputs: JobInputs) -> SlotRequest | None:
    """Return the slots that the user requests with flags of `run`. Return None if no such flag is given: then `run`
    uses all slots."""
    wanted, elastic = inputs.request.slot_flags, inputs.resilience.elastic
    if wanted.is_empty and elastic is None:
        return None
    request = replace(slot_request(wanted, located.inventory), elastic=elastic)
    known = known_launcher(inputs.request.launcher, located.inventory.launcher)
    return as_pool(request, known.launcher) if known else request


def _on_all_slots(located: Located, inputs: JobInputs) -> JobInputs:
    """Return the inputs of `train` without slot flags, so that the job takes all slots of its cluster.

    `up` has already applied these flags to the cluster. Two flags may stay. `-H` applies to both `up` and `train`,
    so inputs with `-H` are returned unchanged. `-np` stays if the launcher is a pool, which may have more ranks than
    slots."""
    if inputs.request.hosts:
        return inputs
    known = known_launcher(inputs.request.launcher, located.inventory.launcher)
    np = inputs.request.np if known and known.launcher.is_pool else None
    nothing = replace(inputs.request, np=np, strategy=None, gpu=None, include=None, exclude=None)
    return replace(inputs, request=nothing)


def _up_options(request: TrainRequest, keep: str, wanted: SlotRequest | None) -> UpOptions:
    return UpOptions(
        accept_new_host_keys=request.accept_new_host_keys,
        is_dry_run=request.is_dry_run,
        keep=keep,
        is_forced=request.is_forced,
        lock_wait_s=request.lock_wait_s,
        request=wanted,
    )


def _slots_text(request: TrainRequest) -> str:
    return request.hosts or (pluralize(request.np, "rank") if request.np else "every slot")


@dataclass
class _Run:
    env: Env
    located: Located
    inputs: JobInputs
    keep: str
    viewer: Viewer
    options: UpOptions
    verbs: RunVerbs
    hooks: Hooks
    hosts: frozenset[str] | None = field(default=None, init=False)
    report: RunReport = field(init=False)

    def __post_init__(self) -> None:
        self.report = RunReport(self.located)

    def execute(self) -> RunReport:
        try:
            self._up_and_train()
        except KeyboardInterrupt:
            self.report.error = Interrupted("interrupted by Ctrl-C")
        except Exception as error:
            self.report.error = error
        if self.hosts is None and self.report.error:
            raise self.report.error
        if self._may_be_running:
            self.report.may_be_running = self.report.is_kept = True
        elif self._is_kept:
            self.report.is_asked_to_keep = self.report.is_kept = True
            self._fetch_results()
        else:
            self._take_down()
        return self.report

    def _up_and_train(self) -> None:
        self.hooks.before("up")
        made = self.verbs.up(self.env, self.located, self.options, self._begun, self.viewer.explained)
        if not self.inputs.request.np:
            # With a pool `-np` is left for `train`, which says how many ranks wait.
            note_fewer_ranks(self.env, self.options.request.np if self.options.request else None, made.ranks)
        self.hooks.after("up", 0)
        watching = self._watching()
        with TrainHooks(self.hooks).around(watching, tells_failure=False):
            report = self.verbs.train(self.env, self.located, self.inputs.request, watching, self.inputs)
            self.report.train = report
            if ended := report.ended(self.located.flag):
                raise_unless_succeeded(ended, self.inputs.request.propagates_exit)

    def _begun(self, plan: Plan) -> None:
        self.hosts = frozenset(step.host for step in plan.steps)
        self.viewer.plan(plan)

    def _watching(self) -> Viewer:
        def started(info: Started) -> None:
            self.report.job = info.job
            self.viewer.started(info)

        # Without `explained`: `up` explains the placement. `line` is looked up late, because the caller sets
        # it when the job has started.
        return Viewer(
            plan=self.viewer.plan,
            started=started,
            line=lambda line: self.viewer.line(line),
            stopping=self.viewer.stopping,
        )

    @property
    def _may_be_running(self) -> bool:
        """Whether the job was started and its end was not seen: it may be running."""
        ended = (JobFailed, JobStopped, Interrupted, HeadLost)
        return bool(self.report.job) and self.report.error is not None and not self._ended_by(*ended)

    @property
    def _is_kept(self) -> bool:
        """Whether the cluster is kept after this job, as `--keep` says: with `always` in any case, with `failed` if
        there was an error.

        A job that was interrupted or stopped does not count as failed."""
        has_failed = self.report.error is not None and not self._ended_by(Interrupted, JobStopped)
        return self.keep == "always" or (self.keep == "failed" and has_failed)

    def _ended_by(self, *kinds: type[BaseException]) -> bool:
        return isinstance(self.report.error, kinds)

    def _fetch_results(self) -> None:
        if self.report.job:
            self._clean_up(self._fetch)

    def _fetch(self) -> None:
        report = self.verbs.fetch(self.env, self._only_used_hosts(), self.report.job, None)
        self.report.fetched = report.fetched
        report.raise_errors()

    def _only_used_hosts(self) -> Located:
        """Return the inventory (`self.located`) with only the hosts on which `up` planned to change something.

        Other hosts have nothing of this `run` and may be unreachable. The inventory keeps all hosts if `up` planned
        nothing, or if the cluster is local, with all workers on one machine."""
        inventory = self.located.inventory
        used = tuple(host for host in inventory.hosts if host.name in (self.hosts or ()))
        if inventory.is_local or not used:
            return self.located
        return replace(self.located, inventory=replace(inventory, hosts=used))

    def _take_down(self) -> None:
        wait_s = max(CLEANUP_LOCK_WAIT_S, self.inputs.request.lock_wait_s)
        options = DownOptions(is_sure=True, lock_wait_s=wait_s)

        def work() -> None:
            self.hooks.with_job(self.report.job, self.report.hosts).before("down")
            done = self.verbs.down(self.env, self._only_used_hosts(), options)
            self.report.fetched = done.fetched.get(self.report.job)

        if not self._clean_up(work):
            self.report.is_kept = True

    def _clean_up(self, work: Callable[[], None]) -> bool:
        """Run `work`, which fetches the results or removes the cluster, and return whether it succeeded.

        Only a second Ctrl-C interrupts `work`. An error that it raises is stored in the report."""
        text = f"everything is being given back; Ctrl-C again leaves it as it is: {self.report.down_command}"
        try:
            finish_despite_ctrl_c(work, lambda: self.env.listener(Event("note", text)))
        except SecondCtrlC:
            self.report.cleanup_error = Interrupted("left by Ctrl-C before everything was given back")
        except HvdockerError as error:
            self.report.cleanup_error = error
        except Exception as error:
            self.report.cleanup_error = HvdockerError(f"giving back failed: {type(error).__name__}: {error}")
        return self.report.cleanup_error is None
