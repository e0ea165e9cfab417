"""Lists the masters (the containers of jobs, one per job) of all clusters on the hosts. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from docker import APIClient
from docker.errors import NotFound

from hvdocker import names
from hvdocker.observe.engine import see_containers
from hvdocker.observe.state import ContainerSeen
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import HostOutcomes, for_each_host


@dataclass(frozen=True)
class MasterSeen:
    """The master of a job (its container) with the start and end time of the job, in Unix seconds by the host's clock.

    A time is None if the job has not started or not ended. Both are None if the engine was not asked for them, because
    this takes one call per master."""

    container: ContainerSeen
    started: float | None = None
    finished: float | None = None


def see_masters(links: Mapping[str, HostLink], most_ended: int | None) -> HostOutcomes[tuple[MasterSeen, ...]]:
    """Return the masters (of all clusters) on each host in `links`. Running masters come first, then ended ones, each
    newest first.

    The start and end times need one engine call per master. All running masters get their times. Of the ended masters
    only the `most_ended` newest get them, or all if `most_ended` is None."""

    def see(name: str) -> tuple[MasterSeen, ...]:
        with translating_errors(name, "looking at its jobs"):
            engine = links[name].engine()
            masters = [seen for seen in see_containers(engine) if seen.role == names.ROLE_MASTER]
            masters.sort(key=lambda seen: (seen.is_running, seen.created), reverse=True)
            running = sum(seen.is_running for seen in masters)
            most = None if most_ended is None else running + most_ended
            asked = [_with_times(engine, seen) for seen in masters[:most]]
            return (*asked, *(MasterSeen(seen) for seen in masters[len(asked) :]))

    return for_each_host(links, see)


def _with_times(engine: APIClient, seen: ContainerSeen) -> MasterSeen:
    try:
        state = engine.inspect_container(seen.id)["State"]
    except NotFound:  # removed since it was listed
        return MasterSeen(seen)
    finished = None if seen.is_running else _unix_seconds(state.get("FinishedAt", ""))
    return MasterSeen(seen, _unix_seconds(state.get("StartedAt", "")), finished)


def master_facts(inspected: Mapping[str, Any]) -> dict[str, object]:
    """Return facts about a job that would be lost when its master (the job's container) is removed.

    The keys are `labels` (only those of hvdocker), `created`, `started`, `finished` (Unix seconds) and `exit_code`. The
    last two are None while the job runs.

    The facts are stored with a fetched log as master.json, so that `jobs` can list the job after its container is gone.
    `inspected` is the engine's answer about the master (`docker inspect`). Its values are `Any` because they come from
    parsed JSON."""
    state = inspected["State"]
    labels = inspected["Config"].get("Labels") or {}
    is_living = bool(state["Running"])
    return {
        "labels": {name: value for name, value in labels.items() if name.startswith("hvdocker.")},
        "created": _unix_seconds(inspected.get("Created", "")),
        "started": _unix_seconds(state.get("StartedAt", "")),
        "finished": None if is_living else _unix_seconds(state.get("FinishedAt", "")),
        "exit_code": None if is_living else state.get("ExitCode"),
    }


def _unix_seconds(text: str) -> float | None:
    """Parse a time such as `2024-05-04T03:02:01.123456789Z` and return it in Unix seconds.

    Return None for text that is no time, and for the year 1, which engines write for "never"."""
    try:
        found = datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return found.timestamp() if found.year > 1 else None
