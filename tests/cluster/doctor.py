"""What the doctor says of a site."""

import json
import subprocess
from typing import Any

from tests.cluster.site import Site


def diagnose(site: Site, *flags: str) -> dict[str, Any]:
    """The report as JSON."""
    out, err = start(site, *flags).communicate(timeout=300)
    print(out, err, sep="\n--- stderr\n")
    return dict(json.loads(out))


def start(site: Site, *flags: str) -> subprocess.Popen[str]:
    return site.cli.start("doctor", site.inventory.name, "--json", *flags, cwd=site.folder)
