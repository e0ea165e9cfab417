"""Decisions and messages about restarting a job. Pure: opens and runs nothing."""

import signal
from collections.abc import Collection, Sequence

from hvdocker.protocol.job_file import JobHost
from hvdocker.protocol.marks import Mark
from hvdocker.protocol.resilience import Resilience

MAX_PAUSE_S = 30.0
# How long it may take until the loss of a host shows as a failure of the remaining ranks.
HOST_LOSS_DELAY_S = 60.0
# A run that lasted this long did not fail quickly.
LONG_RUN_S = 60.0


def may_restart(resilience: Resilience, used: int, is_stopped_by_rule: bool) -> bool:
    """Return whether a failed run of the launcher may be followed by a restart. That is so if `resilience` allows more
    restarts than were already `used`, and no log rule has forbidden further restarts (`is_stopped_by_rule`)."""
    return used < resilience.restarts and not is_stopped_by_rule


def restart_pause_s(run_seconds: Sequence[float]) -> float:
    """Return the seconds to wait before a restart. `run_seconds` says how long each run of the launcher so far lasted.
    The pause is 1 s. It doubles with every further run in a row that lasted less than a minute, up to 30 s."""
    quick = 0
    for seconds in reversed(run_seconds):
        if seconds >= LONG_RUN_S:
            break
        quick += 1
    return min(MAX_PAUSE_S, 2.0 ** min(max(quick - 1, 0), 10))


def remaining_hosts(
    job_hosts: Sequence[JobHost], head: str, answering: Collection[str], dropped: Collection[str]
) -> tuple[JobHost, ...]:
    """Return those of `job_hosts` that take part in the next run of the launcher: those that respond (`answering`) and
    are not dropped. The head always takes part, because the supervisor runs on it."""
    return tuple(
        job_host
        for job_host in job_hosts
        if job_host.name == head or (job_host.name in answering and job_host.name not in dropped)
    )


def loss_is_cause_within_s(elastic_timeout_s: float, is_own_failure: bool) -> float:
    """Return for how many seconds after its loss a host may be the cause of an elastic job's failure. If a rank failed
    by itself (`is_own_failure`), this time is short, because such a failure long after the loss has another cause.
    Otherwise `elastic_timeout_s` is added, because the job may have waited for slots until this timeout ended it."""
    return HOST_LOSS_DELAY_S if is_own_failure else HOST_LOSS_DELAY_S + elastic_timeout_s


def total_slots(job_hosts: Sequence[JobHost]) -> int:
    return sum(job_host.slots for job_host in job_hosts)


def hosts_by_rank(job_hosts: Sequence[JobHost]) -> dict[int, str]:
    """Return the planned host of each rank that starts at once, for a launcher that does not restart ranks. The
    launcher fills `job_hosts` in order: the first ranks are on the first host, as many as it has slots. Ranks that wait
    for a free slot (launcher `each`) are missing."""
    names = [job_host.name for job_host in job_hosts for _slot in range(job_host.slots)]
    return dict(enumerate(names))


def restart_sentence(run: int, why: str, job_hosts: Sequence[JobHost], resilience: Resilience, used: int) -> str:
    """Return the message that announces a restart on `job_hosts` after run number `run` of the launcher failed. `why`
    says how the run failed, such as `hung`. `used` is the number of this restart within this master container.
    `resilience.first_restart` is the number of restarts in earlier master containers of the job; it is added for the
    message."""
    hosts = ",".join(f"{job_host.name}:{job_host.slots}" for job_host in job_hosts)
    number, most = resilience.first_restart + used, resilience.first_restart + resilience.restarts
    return f"run {run} {why}; running it again on {hosts} (restart {number} of {most})"


def describe_failure(first: Mark | None, launcher_code: int) -> str:
    """Return why a run of the launcher failed, as words for a message. `first` is the message that reports the end of
    the first failed rank; the words then say how this rank ended. If `first` is None, because no rank reported a
    failure, the words name the launcher's exit code (`launcher_code`)."""
    if first is None:
        return f"failed (the launcher: exit code {launcher_code})"
    return f"failed (rank {first['rank']} on {first.get('host', '?')}: {describe_exit(first)})"


def describe_exit(mark: Mark) -> str:
    """Return how a rank ended, as words for a message: `out of memory`, a signal, or an exit code. `mark` is the exit
    mark of the rank (the message that reports its end)."""
    if mark.get("oom"):
        return "out of memory"
    number = mark.get("signal")
    if not number:
        return f"exit code {mark.get('code')}"
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def shortage_sentence(slots: int, least: int, timeout_s: float) -> str:
    """Return the message for an elastic job that has fewer `slots` than it needs to go on (`least`). `timeout_s` is
    how long the launcher waits for more slots."""
    minutes, rest = divmod(timeout_s, 60)
    time_ = f"{minutes:g} min" if minutes and not rest else f"{timeout_s:g} s"
    return (
        f"{slots} slot(s) left, at least {least} needed: waiting up to {time_} for a host (hvdocker up brings one back)"
    )


def lost_sentence(host: str, ranks: Sequence[int]) -> str:
    """Return the message for a host of the job that does not respond any more. `ranks` are the numbers of the ranks
    that ran there; without ranks the message names only the host."""
    if not ranks:
        return f"{host} stopped answering"
    numbers = ", ".join(str(rank) for rank in ranks)
    verb = "was" if len(ranks) == 1 else "were"
    return f"{host} stopped answering (rank{'s' * (len(ranks) > 1)} {numbers} {verb} there)"
