"""Executes a plan, wave by wave (a wave is a group of stages), on all hosts at once, and records how to undo what
it creates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from docker import APIClient

from hvdocker import assets
from hvdocker.errors import HvdockerError, Interrupted
from hvdocker.events import Event, EventListener, ignore_events
from hvdocker.inventory.inventory import Inventory
from hvdocker.plan.plan import CONTROLLER, Plan, Stage, Step, steps_by_host
from hvdocker.secret import Secret
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.local_link import LocalLink
from hvdocker.transport.pool import for_each_host

Undo = tuple[str, str, Callable[[], None]]


def _no_fetch(job: str) -> None:
    raise NotImplementedError(f"nothing here can fetch {job}")


def _no_guard() -> None:
    """Do nothing. This is the default `guard` of a Context: the steps continue even if a lock is lost."""


@dataclass
class Context:
    """The data that all steps of one hvdocker command, such as `up`, share.

    `links` has the open connection to each host. `listener` gets the progress. `template` is the text of
    templates/ssh_config.j2, from which the workers' SSH configuration is made. `undo` records how to undo what was
    created, newest last, as (host, what was created, function that removes it). `results` has values that the steps of
    a stage and its `prepare` pass to each other. A key of `results` is a pair: a word for the kind of value, and a host
    or another word. `lock` protects what the threads of all hosts change. `cancelled` is set after Ctrl-C.

    `keyring` has the cluster's SSH keys, `trust` says which workers may log in to each other, `shipment` is the
    image that is being sent, and `tree` is the code to sync; each is None until a step needs it. `secrets` (values
    by name) are kept here, in memory, and nowhere else. `fetch` fetches the files of the job with the given id; by
    default it raises NotImplementedError. `guard` raises Locked if the command has lost its lock of a host."""

    inventory: Inventory
    links: Mapping[str, HostLink]
    listener: EventListener = ignore_events
    template: str = field(default_factory=assets.ssh_config_template)
    undo: list[Undo] = field(default_factory=list)
    results: dict[tuple[str, str], Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    cancelled: threading.Event = field(default_factory=threading.Event)
    keyring: Any = None  # Any: a key_pairs.ClusterKeys; set by MakeKeys
    trust: Any = None  # Any: a cluster.steps.Trust; set by MakeKeys
    shipment: Any = None  # Any: an images.ship.shipment.Shipment; set while an image is sent
    secrets: Mapping[str, Secret[bytes]] = field(default_factory=dict)
    tree: Any = None  # Any: a sync.Tree; read once, before the first host
    fetch: Callable[[str], None] = _no_fetch
    # Raises an error if this run must stop because another run has taken its lock.
    guard: Callable[[], None] = _no_guard
    _controller: LocalLink | None = None
    _once_lock: threading.Lock = field(default_factory=threading.Lock)
    _made_once: dict[str, str] = field(default_factory=dict)

    def link(self, host: str) -> HostLink:
        """Return the link to a host. For the name CONTROLLER, return a link to this machine, on which commands run
        locally."""
        if host != CONTROLLER:
            return self.links[host]
        with self.lock:
            if self._controller is None:
                self._controller = LocalLink(CONTROLLER)
            return self._controller

    def engine(self, host: str) -> APIClient:
        return self.link(host).engine()

    def once(self, what: str, make: Callable[[], str]) -> str:
        """Return a text that is the same for all hosts and is made only once for this Context. `what` is its name. The
        first caller makes it with `make`; the others wait for it."""
        with self._once_lock:
            if what not in self._made_once:
                self._made_once[what] = make()
            return self._made_once[what]

    def add_undo(self, host: str, what: str, undo: Callable[[], None]) -> None:
        """Record that `what` (words for messages, such as `folder /x`) was created on a host. `undo` is the function
        that removes it; `roll_back` calls it if the command fails."""
        with self.lock:
            self.undo.append((host, what, undo))

    def cancel(self) -> None:
        """Stop the steps after Ctrl-C: the next call of `report_progress` in each step raises Interrupted."""
        self.listener(Event("stop", "stopping as soon as what is under way allows it"))
        self.cancelled.set()

    def report_progress(self, stage: str, text: str, host: str | None = None, **numbers: int | bool | None) -> None:
        """Report progress to the listener, as an Event with these fields: `stage` is a word for the kind of work,
        `text` says what is done, `host` is None if it concerns no single host; `numbers` are its fields `done`, `total`
        and `is_end`. Raises Interrupted if `cancel` was called, and Locked if a lock was lost. Steps that take long
        call this often, so that they can be stopped."""
        if self.cancelled.is_set():
            raise Interrupted("interrupted")
        self.guard()
        self.listener(Event(stage, text, host, **numbers))  # type: ignore[arg-type]  # Event's own fields


def apply(plan: Plan, context: Context) -> None:
    """Execute a plan that creates things, wave by wave (a wave is a group of stages). If a host fails, hosts that have
    already begun this wave finish it, and no other work is begun. Then the error of the host is raised, or HostErrors
    if several hosts failed."""
    for wave in plan.waves():
        _run_wave(plan, wave, context, stop_at_first=True)


def apply_all(plan: Plan, context: Context) -> list[HvdockerError]:
    """Execute a plan that removes things, wave by wave (a wave is a group of stages). Continue after errors, and
    return them all; empty if there were none."""
    errors: list[HvdockerError] = []
    for wave in plan.waves():
        try:
            _run_wave(plan, wave, context, stop_at_first=False)
        except HvdockerError as error:
            errors += getattr(error, "errors", None) or [error]
    return errors


def roll_back(context: Context) -> list[HvdockerError]:
    """Undo what the steps created (`context.undo`), newest first, after a command failed. Return the errors of what
    could not be undone; these are reported as progress too."""
    errors: list[HvdockerError] = []
    # Allow progress reports again: neither Ctrl-C nor a lost lock stops the rollback.
    context.cancelled.clear()
    context.guard = _no_guard
    if context.undo:
        context.report_progress("undo", "removing what this run made")
    for host, what, undo in reversed(context.undo):
        try:
            with translating_errors(host, f"undoing: {what}"):
                undo()
        except HvdockerError as error:
            context.report_progress("undo", f"could not undo: {error.what}", error.host)
            errors.append(error)
    context.undo.clear()
    return errors


def _run_wave(plan: Plan, wave: Sequence[Stage], context: Context, stop_at_first: bool) -> None:
    from hvdocker.plan.actions import action_for, prepare

    work_of = steps_by_host(wave)
    with ExitStack() as prepared:
        for stage in wave:
            prepared.enter_context(translating_errors(CONTROLLER, f"preparing the stage {stage.name}"))
            prepared.enter_context(prepare(stage, context))

        def work(host: str) -> None:
            for name, step in work_of[host]:
                _run_step(name, step, context, action_for(step))

        outcomes = for_each_host(work_of, work, stop_at_first, context.cancel)
    outcomes.or_raise(f"{plan.verb} failed on {len(outcomes.failed)} hosts")


def _run_step(stage: str, step: Step, context: Context, action: Callable[[Any, Context], None]) -> None:
    context.report_progress(stage, step.describe(), step.host)
    with translating_errors(step.host, step.describe()):
        action(step, context)
    context.report_progress(stage, step.describe(), step.host, is_end=True)
