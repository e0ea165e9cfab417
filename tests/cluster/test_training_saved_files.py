"""Nothing that a job wrote is removed before it is home: files beside the script, and files that are hard to read."""

from collections.abc import Iterator

import pytest

from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab_cluster import LabCluster

pytestmark = pytest.mark.training


@pytest.fixture
def site(training: LabCluster) -> LabCluster:
    """Up, with a file in the code that the script overwrites."""
    (training.folder / "code" / "settings.txt").write_text("as synced")
    training.up()
    return training


@pytest.fixture
def as_root(site: LabCluster) -> Iterator[LabCluster]:
    """Containers run as root, while the SSH user has no sudo."""
    text = site.inventory.read_text()
    site.inventory.write_text(f"{text}user: root\n")
    site.up()
    yield site
    for host in site.hosts:
        host.exec(f"chown -R trainer /home/trainer/.hvdocker/{site.cluster}")
    site.down("--discard")
    site.inventory.write_text(text)


def train(site: LabCluster, *arguments: str) -> str:
    """Run the script on both hosts and return the job."""
    before = {job["job"] for job in site.status()["jobs"]}
    site.run("train", "code/save_beside.py", "-np", "2", "--", *arguments)
    [job] = [job["job"] for job in site.status()["jobs"] if job["job"] not in before]
    return str(job)


def files(site: LabCluster, job: str, folder: str = "code") -> dict[str, str]:
    top = site.folder / ".hvdocker" / "jobs" / job
    found = (path for path in (top / folder).rglob("*") if path.is_file())
    return {path.relative_to(top / folder).as_posix(): path.read_text() for path in found}


def saved(word: str) -> dict[str, str]:
    return {
        f"checkpoints/{word}-0.h5": "weights of rank 0",
        f"checkpoints/{word}-1.h5": "weights of rank 1",
        f"{word}.txt.h1": "by rank 0",
        f"{word}.txt.h2": "by rank 1",
        "settings.txt": f"changed by {word}",
    }


def test_what_a_script_saves_beside_itself_comes_home_by_fetch_and_by_down(site: LabCluster) -> None:
    fetched = train(site, "first")
    result = site.run("fetch", fetched)
    assert f"saved beside the script: {site.folder}/.hvdocker/jobs/{fetched}/code/" in result.err
    assert files(site, fetched) == saved("first")
    by_down = train(site, "second")
    result = site.run("down")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
    assert f".hvdocker/jobs/{by_down}/code/" in result.err
    assert files(site, by_down) == saved("second")


def test_a_sync_destroys_nothing_that_a_job_wrote(site: LabCluster) -> None:
    first = train(site, "first")
    (site.folder / "code" / "first.txt").write_text("a file of this name is here now")
    result = site.run("train", "code/save_beside.py", "-np", "2", "--", "second")
    assert "that a job had written gave way to the code here" in result.err
    (site.folder / "code" / "first.txt").unlink()
    site.run("down")
    assert files(site, first) == saved("first")


def test_files_that_were_written_without_a_job_come_home_by_down(site: LabCluster) -> None:
    site.run("exec", "--", "sh", "-c", "echo by hand > by-hand.txt")
    site.run("down")
    [home] = (site.folder / ".hvdocker" / "no-job").glob(f"{site.cluster}-*/code/by-hand.txt")
    assert home.read_text() == "by hand\n"


def test_run_brings_home_what_the_script_saved_beside_itself(site: LabCluster) -> None:
    site.run("down")
    result = site.cli.run("run", site.inventory, "code/save_beside.py", "-np", "2", "--", "alone", cwd=site.folder)
    [folder] = [
        path for path in (site.folder / ".hvdocker" / "jobs").iterdir() if (path / "code/alone.txt.h1").exists()
    ]
    assert files(site, folder.name) == saved("alone")
    assert f"{folder}/code/" in result.err


def test_a_closed_folder_of_the_user_comes_home(site: LabCluster) -> None:
    job = train(site, "closed", "--closed")
    site.run("fetch", job)
    home = files(site, job, "out")
    assert home["locked/in/file.txt"] == "locked" and home["readable.txt"] == "readable"
    site.run("train", "code/save_beside.py", "-np", "2", "--", "again", "--closed")
    site.run("down", "--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}


def test_files_of_root_that_the_ssh_user_cannot_read_come_home(as_root: LabCluster) -> None:
    job = train(as_root, "root", "--closed")
    as_root.run("fetch", job)
    home = files(as_root, job, "out")
    assert home == {
        "readable.txt": "readable",
        "alias": "readable",
        "private.txt": "private",
        "locked/in/file.txt": "locked",
    }
    assert files(as_root, job)["root-private.txt"] == "private"


def test_down_refuses_while_a_file_cannot_be_read_by_anybody(site: LabCluster) -> None:
    job = train(site, "refused")
    head = site.hosts[0]
    folder = f"{site.folder_on(head)}/jobs/{job}/out"
    # Without a worker the engine cannot read it either.
    head.docker("rm", "-f", site.worker)
    head.exec(f"echo hidden > {folder}/hidden; chmod 600 {folder}/hidden; echo seen > {folder}/seen")
    result = site.run("down", check=1)
    assert "nothing was removed" in result.err and "out/hidden" in result.err and "--discard" in result.err
    assert files(site, job) == saved("refused") and files(site, job, "out") == {"seen": "seen\n"}
    site.run("down", "--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
