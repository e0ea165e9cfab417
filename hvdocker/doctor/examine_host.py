"""Gathers the facts about one host. Each fact is gathered separately, so that a failure hides only the facts that
depend on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hvdocker import names
from hvdocker.doctor.facts.facts import EngineState, HostFacts, TrialResult
from hvdocker.doctor.facts.trial_commands import trial_spec
from hvdocker.doctor.judges.host_names import names_to_resolve
from hvdocker.errors import HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.locks.holder import Holder
from hvdocker.locks.lock_takeover_commands import look_at_lock
from hvdocker.names import Maker
from hvdocker.observe.gpu_query import HUNG_ERROR
from hvdocker.observe.state import HostSeen
from hvdocker.placement.host_plan import HostPlan

if TYPE_CHECKING:
    from hvdocker.doctor.facts.gather import Attempts
    from hvdocker.transport.link import HostLink


def _look_at_lock(link: HostLink) -> Holder | HvdockerError | None:
    """Return the holder of the host's lock, or None if nobody holds it.

    Return the error if the folder of the lock cannot be used. Nothing is written, so a disk that is full or read-only
    is not noticed here."""
    from hvdocker.locks.held_locks import LockUnusable, run_lock_command

    try:
        return run_lock_command(link, look_at_lock()).holder
    except LockUnusable as error:
        return error


@dataclass(frozen=True)
class Examiner:
    """Gathers facts about the hosts of an inventory.

    `maker` identifies the user. `now` returns the controller's time in seconds. `entropy` returns random bytes."""

    inventory: Inventory
    maker: Maker
    now: Callable[[], float]
    entropy: Callable[[int], bytes]

    def examine(
        self, link: HostLink, seen: HostSeen | None, unfit: HvdockerError | None, place: HostPlan | None
    ) -> HostFacts:
        """Return all facts about the host. Errors are collected in `failures` of the result, not raised.

        `seen` is the result of the usual observation. If the observation failed, `seen` is None and `unfit` is the
        error. `place` is the host's plan. It is None for the cheap checks, or if the host cannot be planned. Then no
        trial container is started, and the code on the host is not examined."""
        from hvdocker.doctor.facts.gather import DEFAULT_DOCKER_ROOT, Attempts, see_clock, see_engine, see_machine
        from hvdocker.transport.ssh.link import SshLink

        attempts = Attempts(link.name)
        info: Mapping[str, Any] | None = None  # Any: parsed JSON
        engine: EngineState | None = None
        if seen:
            info = attempts.attempt("asking the engine who it is", lambda: link.engine().info())
        if info is not None:
            told = info
            engine = attempts.attempt(
                "listing what is ours", lambda: see_engine(link.engine(), told, self.inventory.cluster)
            )
        root = str((info or {}).get("DockerRootDir") or DEFAULT_DOCKER_ROOT)
        mounts = [mount.source for mount in self.inventory.mounts]
        peers = list(names_to_resolve(self.inventory.named(link.name), self.inventory.hosts))
        is_hung = seen is not None and seen.gpu_error == HUNG_ERROR
        lock = attempts.attempt("looking at its lock", lambda: _look_at_lock(link))
        health = HostFacts(
            link.name,
            login=link.login if isinstance(link, SshLink) else None,
            seen=seen,
            observe_error=unfit,
            machine=attempts.attempt(
                "looking at the host",
                lambda: see_machine(link, root, mounts, peers, is_hung, self.inventory.cluster),
            ),
            clock=attempts.attempt("asking for the time", lambda: see_clock(link, self.now)),
            engine=engine,
            lock=lock if isinstance(lock, Holder) else None,
            lock_error=lock if isinstance(lock, HvdockerError) else None,
        )
        if seen and place:
            health = self._with_cluster(health, link, place, attempts)
        return replace(health, failures=tuple(attempts.failures))

    def _with_cluster(self, health: HostFacts, link: HostLink, place: HostPlan, attempts: Attempts) -> HostFacts:
        from hvdocker.doctor.facts.code_drift import see_code

        trial = attempts.attempt("trying a container", lambda: self._try(link, place))
        if not place.seen.cluster_dir:
            return replace(health, trial=trial)
        code = attempts.attempt("looking at its code", lambda: see_code(link, f"{place.folder}/code"))
        return replace(health, trial=trial, code=code)

    def _try(self, link: HostLink, place: HostPlan) -> TrialResult | None:
        """Run the trial container and return its result, or None if the host has no image for the container.

        `place` is the host's plan. The container runs the image of the host's ranks. If that image is missing on a host
        with GPUs, any other hvdocker image is used, to test at least `--gpus`. The doctor sends no image to a host."""
        from hvdocker.doctor.facts.trial_container import any_own_image, try_container

        has_gpus = bool(place.seen.gpus)
        image = _rank_image(place)
        is_other = image is None
        if image is None and has_gpus:
            image = any_own_image(link.engine())
        if image is None:
            return None
        chosen = image
        token = self.entropy(4).hex()
        found = try_container(
            link.engine(),
            lambda gpus: trial_spec(self.inventory, place, self.maker, chosen, f"{token}{'g' if gpus else ''}", gpus),
            has_gpus,
        )
        return replace(found, is_substitute=is_other)


def _rank_image(place: HostPlan) -> str | None:
    """Return the id of the image of the ranks on the host of `place`: the image of its running worker, else the
    cluster's image.

    Return None if there is no running worker and the cluster's image is missing or not made for hvdocker."""
    worker = place.seen.worker(place.name)
    if worker and worker.role == names.ROLE_WORKER and worker.is_running:
        return worker.image_id
    image = place.seen.image
    return image.id if image and image.is_ours else None
