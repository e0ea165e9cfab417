"""The launcher `each`: runs the command once for each rank. The ranks are independent of each other. Pure."""

import re

from hvdocker.protocol.job_file import Job
from inside.launchers.launcher import LauncherRun, RankIdentity
from inside.launchers.spawned import SpawnedLauncher

PLACEHOLDER = re.compile(r"\{(?:rank|size|local_rank|host)\}")


class Each(SpawnedLauncher):
    """The launcher `each`. The values of a rank replace {rank}, {size}, {local_rank} and {host} in its command. If
    there are more ranks than slots, the rest wait for a free slot. A failing rank does not end the others, unless the
    option `fail_fast` is set."""

    name = "each"
    separates_devices = True

    def ends_all(self, job: Job) -> bool:
        return bool(job.launcher.options.get("fail_fast"))

    def rank_count(self, run: LauncherRun) -> int:
        return run.job.np or super().rank_count(run)

    def rank_command(self, job: Job, identity: RankIdentity) -> tuple[str, ...]:
        numbers = {
            "{rank}": str(identity.rank),
            "{size}": str(identity.size),
            "{local_rank}": str(identity.local_rank),
            "{host}": job.host,
        }
        return tuple(PLACEHOLDER.sub(lambda found: numbers[found[0]], word) for word in job.command)


LAUNCHER = Each()
