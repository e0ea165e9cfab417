"""A `run` whose link to a host is lost. The loss takes about a minute to be noticed."""

import pytest

from tests.cluster.host_snapshot import untouched
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.test_run import (
    BOTH,
    outputs,
    pasted,
    start,
    the_other_cluster_is_not_touched,
    training,
)
from tests.cluster.training import await_ranks, wait_for_exit

__all__ = ["the_other_cluster_is_not_touched", "training"]

pytestmark = pytest.mark.training


def test_a_lost_link_leaves_the_job_running_and_tells_the_commands(training: LabCluster) -> None:
    with untouched(*training.hosts):
        process, own = start(training, "lost-run")
        training.hosts[0].stop_sshd()
        try:
            code, _, err = wait_for_exit(process)
        finally:
            training.hosts[0].start_sshd()
        assert code == 4 and "the job may go on" in err
        await_ranks(own, "sleep 600")
        assert "waiting for lost-run" in pasted(training, err.replace("logs -f", "logs"), "logs").out
        assert "is running" in pasted(training, err, "down", check=2).err
        assert outputs(training, pasted(training, err, "down", "-y").err) == BOTH
        # The sign of life on the host that was away is all that is left.
        assert training.run("gc", "-y").out.startswith("nothing to do")
