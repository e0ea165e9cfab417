"""Plain processes: the command once for each slot, independent of each other. Pure."""

from inside.launchers.launcher import LauncherRun
from inside.launchers.spawned import SpawnedLauncher
from inside.protocol.job import Job


class Each(SpawnedLauncher):
    """The launcher `each`. There may be more ranks than slots: the rest wait for a free slot. A failing rank does not
    end the others, unless the option `fail_fast` is set."""

    name = "each"

    def ends_all(self, job: Job) -> bool:
        return bool(job.launcher.options.get("fail_fast"))

    def rank_count(self, run: LauncherRun) -> int:
        return run.job.np or super().rank_count(run)


LAUNCHER = Each()
