"""What `up` imports before it connects. The user waits for every import there. Later imports cost little: they are done
while the hosts answer (see `preload_imports` in cli/verb_setup.py)."""

import subprocess
import sys
from pathlib import Path

# Prints what was imported when the verb is about to connect, and ends.
SCRIPT = """
import sys
from hvdocker.transport import session

def stop(*_):
    print(*sys.modules)
    raise SystemExit

session._open_all = stop
from hvdocker.cli.main import main
main(["up", sys.argv[1], "-q"])
"""
LATER = (
    "hvdocker.cluster.plan", "hvdocker.engine", "hvdocker.images", "hvdocker.jobs", "hvdocker.locks",
    "hvdocker.observe", "hvdocker.placement", "hvdocker.sync", "hvdocker.training", "docker", "requests", "jinja2",
)  # fmt: skip


def test_up_imports_nothing_for_its_plan_before_it_connects(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("hosts: [a, b]\nimage: doc-hvd:base\n")
    argv = [sys.executable, "-c", SCRIPT, str(tmp_path / "inventory.yaml")]
    imported = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert "hvdocker.cluster.up" in imported
    assert [name for name in imported if name.startswith(LATER)] == []
