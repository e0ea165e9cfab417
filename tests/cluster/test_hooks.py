"""A person's own programs around verbs: what they are told, when they run, and what their failure does."""

from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster

WRITES = """#!/bin/sh
echo "${0##*/} $HVDOCKER_VERB $HVDOCKER_CLUSTER $HVDOCKER_HOSTS ${HVDOCKER_EXIT_CODE-none}" >> told
echo "this is ${0##*/}"
"""


@pytest.fixture
def site(lab: Lab, cli: Cli) -> LabCluster:
    return LabCluster.write(lab, cli, lab.fresh(2))


def hook(site: LabCluster, name: str, text: str = WRITES) -> Path:
    path = site.folder / ".hvdocker" / "hooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def told(site: LabCluster) -> list[str]:
    path = site.folder / "told"
    return path.read_text().splitlines() if path.exists() else []


def test_hooks_run_around_up_and_down_and_not_in_dry_runs(site: LabCluster) -> None:
    for name in ("pre-up", "post-up", "pre-down", "on-failure"):
        hook(site, name)
    site.run("up", site.inventory, "--dry-run")
    assert told(site) == []
    result = site.up()
    assert told(site) == ["pre-up up lab h1,h2 none", "post-up up lab h1,h2 0"]
    assert "this is pre-up" in result.err and "this is" not in result.out
    site.run("down", "--dry-run")
    site.down()
    assert told(site)[2:] == ["pre-down down lab h1,h2 none"]
    assert cluster_leftovers(site.hosts, "lab") == {}


def test_a_hook_that_fails_before_stops_the_verb_and_skip_hooks_does_not_ask_it(site: LabCluster) -> None:
    hook(site, "pre-up", "#!/bin/sh\necho 'the disks are being checked'\nexit 3\n")
    hook(site, "on-failure")
    result = site.run("up", site.inventory, check=1)
    assert "the hook pre-up failed with exit code 3" in result.err
    assert result.err.count("the disks are being checked") == 2, "as it came, and as evidence"
    assert told(site) == ["on-failure up lab h1,h2 1"]
    assert cluster_leftovers(site.hosts, "lab") == {}
    site.run("up", site.inventory, "--skip-hooks")
    hook(site, "pre-down", "#!/bin/sh\nexit 1\n")
    before = site.worker_ids()
    assert "the hook pre-down failed" in site.run("down", "-y", check=1).err
    assert site.worker_ids() == before
    site.down("--skip-hooks")


def test_a_hook_may_call_hvdocker_and_does_not_call_itself(site: LabCluster) -> None:
    """It would wait without end if it ran under the locks, or start itself again."""
    calls = '#!/bin/sh\necho "again" >> told\nexec "$HVDOCKER_BIN_OF_TEST" up "$HVDOCKER_INVENTORY"\n'
    hook(site, "post-up", calls)
    from tests.cluster.cli import binary

    site.run("up", site.inventory, env={"HVDOCKER_BIN_OF_TEST": binary()})
    assert told(site) == ["again"]
    site.down()


def test_what_others_could_have_written_is_not_run(site: LabCluster) -> None:
    path = hook(site, "pre-up")
    path.parent.chmod(0o777)
    result = site.run("up", site.inventory, check=1)
    assert "hooks is not run: everybody may write to it" in result.err and "--skip-hooks" in result.err
    assert told(site) == [] and cluster_leftovers(site.hosts, "lab") == {}


def test_a_hook_that_is_not_executable_is_told_of(site: LabCluster) -> None:
    hook(site, "pre-up").chmod(0o644)
    assert "the hook pre-up is not executable" in site.up().err
    assert told(site) == []
    site.down()
