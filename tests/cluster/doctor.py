"""Runs `hvdocker doctor` on a cluster under test."""

import json
import subprocess
from typing import Any

from tests.cluster.lab_cluster import LabCluster


def diagnose(site: LabCluster, code: int, *flags: str) -> dict[str, Any]:
    """Run the doctor, assert its exit code, and return its report as JSON."""
    process = start_doctor(site, *flags)
    out, err = process.communicate(timeout=300)
    print(out, err, sep="\n--- stderr\n")
    assert process.returncode == code, f"exit {process.returncode}, expected {code}"
    return dict(json.loads(out))


def start_doctor(site: LabCluster, *flags: str) -> subprocess.Popen[str]:
    return site.cli.start("doctor", site.inventory.name, "--json", *flags, cwd=site.folder)
