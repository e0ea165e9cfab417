"""Horovod Elastic: horovodrun starts ranks again while hosts come and go. It learns the current hosts from
`bin/discover`, a program that prints the list of hosts that the supervisor keeps. Pure."""

from collections.abc import Sequence

from hvdocker.protocol.job_file import Job
from inside.launchers.horovod import Horovod, flag_value, total_slots, with_flag_value, words_of
from inside.launchers.launcher import LauncherRun

# Horovod's default for --elastic-timeout.
ELASTIC_TIMEOUT_S = 600.0


class HorovodElastic(Horovod):
    """The launcher `horovod` for elastic jobs. Rank numbers change when hosts come and go. So a rank number in one of
    Horovod's stall warnings (messages that ranks are missing) may not be the number with which the process was
    started."""

    trusts_rank_numbers = False
    restarts_ranks = True

    def rank_count(self, run: LauncherRun) -> int:
        elastic = run.job.resilience.elastic
        np, slots = self.requested_rank_count(run), total_slots(run.hosts)
        return initial_rank_count(np, slots, elastic.max_np if elastic else None)

    def elastic_timeout_s(self, job: Job) -> float:
        """Return how long Horovod waits for slots before it gives up: the value of `--elastic-timeout`, else Horovod's
        default."""
        wanted = flag_value(words_of(job), "--elastic-timeout") or ""
        return float(wanted) if wanted.isdecimal() else ELASTIC_TIMEOUT_S

    def _words(self, run: LauncherRun) -> list[str]:
        elastic = run.job.resilience.elastic
        return elastic_launcher_words(words_of(run.job), elastic.min_np if elastic else 1, total_slots(run.hosts))


def elastic_launcher_words(words: Sequence[str], min_np: int, slots: int) -> list[str]:
    """Return the command line `words` with `-np` lowered to the number of `slots` that exist, but not below `min_np`.
    Words without `-np` are returned unchanged. Without this change Horovod Elastic would wait minutes for slots that do
    not exist, because it begins only when there are `-np` slots."""
    wanted = flag_value(words, "-np")
    if wanted is None:
        return list(words)
    return with_flag_value(words, "-np", str(max(min_np, min(int(wanted), slots))))


def initial_rank_count(np: int, slots: int, max_np: int | None) -> int:
    """Return how many ranks an elastic job begins with. Horovod waits until there are `np` slots, then uses all
    existing `slots`, up to `max_np` (None: no limit)."""
    return max(np, slots if max_np is None else min(slots, max_np))


LAUNCHER = HorovodElastic()
