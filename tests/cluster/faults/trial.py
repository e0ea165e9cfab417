"""A trial of one fault: sets up a cluster for the test, and checks afterwards what has to hold in every
case."""

import hashlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.cli import Cli
from tests.cluster.faults.fault_injection import repair_hosts
from tests.cluster.faults.matrix import FaultRow
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import LabError, until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster
from tests.cluster.launchers import HOROVOD, LauncherCase
from tests.cluster.training import DATA, SCRIPTS

# Every fault has to be reported within this time, even on a busy machine.
DEADLINE_S = 180.0
OUTPUTS = "cd {}/jobs && find . -path './*/out/*' -type f -exec sha256sum {{}} +"
# Processes of the login user, and so of its containers. sshd's side of a connection that was cut may outlive
# the connection.
PROCESSES = "ps -u trainer -o pid=,args= | grep -v 'sshd: trainer' || true"


@dataclass
class Trial:
    """The cluster of a trial. `seconds` is the reaction time measured last; `on_reaction` is called with it."""

    site: LabCluster
    row: FaultRow
    seconds: float | None = None
    launcher: LauncherCase = HOROVOD
    on_reaction: Callable[[float], object] = lambda seconds: None

    @property
    def hosts(self) -> list[LabHost]:
        return self.site.hosts

    @contextmanager
    def reaction(self) -> Iterator[None]:
        """Measure the time from the fault until the user is informed or everything works again."""
        begin = time.monotonic()
        yield
        self.seconds = time.monotonic() - begin
        self.on_reaction(self.seconds)
        print(f"reaction to {self.row.fault}: {self.seconds:.1f} s")

    def run_expecting(self, code: int, *words: str | Path) -> str:
        """Run the program, assert that it ends with that code in time, and return its stderr."""
        return self.site.run(*words, check=code, timeout=DEADLINE_S).err

    def wait_expecting(self, process: "subprocess.Popen[str]", code: int) -> str:
        """Wait for a started program, assert its exit code, and return its stderr."""
        got, out, err = self.wait(process)
        assert got == code, f"exit {got}, expected {code}\n{out}{err}"
        return err

    def wait(self, process: "subprocess.Popen[str]") -> tuple[int, str, str]:
        out, err = process.communicate(timeout=DEADLINE_S)
        print(f"exit {process.returncode}", out, err, sep="\n---\n")
        return process.returncode, out, err

    def start(self, *words: str | Path, **how: Any) -> "subprocess.Popen[str]":
        return self.site.cli.start(*words, cwd=self.site.folder, **how)


@contextmanager
def small_trial(lab: Lab, cli: Cli, row: FaultRow, count: int = 2) -> Iterator[Trial]:
    """Yield a trial on hosts that have the small image; no cluster is up."""
    hosts = lab.fresh(count)
    for host in hosts:
        host.load(SMALL_IMAGE)
    with _with_final_checks(Trial(LabCluster.write(lab, cli, hosts), row)) as trial:
        yield trial


@contextmanager
def training_trial(
    lab: Lab, cli: Cli, row: FaultRow, count: int = 2, launcher: LauncherCase = HOROVOD, **settings: Any
) -> Iterator[Trial]:
    """Yield a trial with a cluster that is up and can train; scripts are in code/, gates in DATA on the
    hosts."""
    hosts = lab.fresh(count)
    for host in hosts:
        host.load(launcher.image)
        host.exec(f"rm -rf {DATA} && mkdir -m 777 {DATA}")
    settings = {**launcher.settings, "mounts": [f"{DATA}:/data:ro"], "memory": "2GB", **settings}
    site = LabCluster.write(lab, cli, hosts, **settings)
    shutil.copytree(SCRIPTS, site.folder / "code")
    launcher.write_requirements(site.folder / "code")
    site.up()
    try:
        with _with_final_checks(Trial(site, row, launcher=launcher)) as trial:
            yield trial
    finally:
        for host in hosts:
            host.attempt(["rm", "-rf", DATA])


@contextmanager
def _with_final_checks(trial: Trial) -> Iterator[Trial]:
    """Assert after any fault that `down` fetches outputs and leaves nothing, and that the next `up` works."""
    try:
        yield trial
    except BaseException:
        repair_hosts(trial.hosts)
        raise
    repair_hosts(trial.hosts)
    made = outputs_on_hosts(trial.site)
    trial.site.down()
    assert made <= fetched_outputs(trial.site), "an output did not come home"
    assert_nothing_left(trial.site)
    trial.site.up()
    trial.site.down()
    assert_nothing_left(trial.site)


def inventory_of(trial: Trial) -> dict[str, Any]:  # Any: YAML
    return dict(yaml.safe_load(trial.site.inventory.read_text()))


def change_inventory(trial: Trial, **settings: object) -> None:
    """Change settings at the top level of the inventory."""
    trial.site.inventory.write_text(yaml.safe_dump({**inventory_of(trial), **settings}))


def outputs_on_hosts(site: LabCluster) -> set[tuple[str, str]]:
    """Return job and SHA-256 of every file that ranks wrote on any host."""
    found: set[tuple[str, str]] = set()
    for host in site.hosts:
        lines = host.exec(OUTPUTS.format(site.folder_on(host)), check=False).splitlines()
        found |= {(path.split("/")[1], digest) for digest, path in (line.split(None, 1) for line in lines)}
    return found


def fetched_outputs(site: LabCluster) -> set[tuple[str, str]]:
    """Return job and SHA-256 of every output file that was fetched."""
    jobs = site.folder / ".hvdocker" / "jobs"
    files = [path for path in jobs.glob("*/out/**/*") if path.is_file()]
    return {(path.relative_to(jobs).parts[0], hashlib.sha256(path.read_bytes()).hexdigest()) for path in files}


def assert_nothing_left(site: LabCluster) -> None:
    assert cluster_leftovers(site.hosts, site.cluster) == {}
    for host in site.hosts:
        until(lambda host=host: _is_quiet(host), f"{host.name} runs nothing of ours", 60)  # type: ignore[misc]


def _is_quiet(host: LabHost) -> bool:
    if left := host.exec(PROCESSES).strip():
        raise LabError(left)
    return True
