"""The doctor between hosts, as a program of its own: `python -m tests.cluster.doctor INVENTORY [--deep]`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hvdocker.model.report import HostReport, Report
from hvdocker.ops.env import Env
from hvdocker.ops.interfaces import examine_interfaces
from hvdocker.ops.locate import read_inventory
from hvdocker.ops.pairs import examine_pairs
from hvdocker.ops.session import connected
from hvdocker.plan.places import places
from tests.cluster.cli import REPOSITORY
from tests.cluster.site import Site


def diagnose(site: Site, *flags: str) -> dict[str, Any]:
    """The report as JSON."""
    out, err = start(site, *flags).communicate(timeout=300)
    print(out, err, sep="\n--- stderr\n")
    return dict(json.loads(out))


def start(site: Site, *flags: str) -> subprocess.Popen[str]:
    site.cli.pin()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.doctor", str(site.inventory), *flags],
        cwd=REPOSITORY,
        env=site.cli.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    site.cli.started.append(process)
    return process


def main(path: str, is_deep: bool) -> None:
    env = Env()
    located = read_inventory(env, Path(path))
    with connected(env, located, must_all=False) as session:
        from hvdocker.hosts.observe import as_state, observe

        seen = observe(located.inventory, session.links).done
        state = as_state(located.inventory, seen, with_images=True)
        placed = places(located.inventory, state)
        network = examine_interfaces(session.links, placed)
        pairs = examine_pairs(
            env, located.inventory, session.links, state, placed, is_deep, f"-i {Path(path).name}"
        )
    hosts = tuple(HostReport(name, (finding,)) for name, finding in network.items())
    print(json.dumps(Report(located.inventory.cluster, hosts, pairs).as_json()))


if __name__ == "__main__":
    main(sys.argv[1], "--deep" in sys.argv)
