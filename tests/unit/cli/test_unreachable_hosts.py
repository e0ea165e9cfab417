"""With no host reachable nothing may be said about what is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUN = "import sys; from hvdocker.cli.main import main; sys.argv[0] = 'hvdocker'; main()"


@pytest.mark.parametrize("words", [["diff", "a", "b"], ["gc"], ["jobs"], ["status"]], ids=" ".join)
def test_no_host_that_answers_means_exit_4_and_no_claim(tmp_path: Path, words: list[str]) -> None:
    hosts = "[{name: a, host: 127.0.0.1, ssh: {port: 1}}, {name: b, host: 127.0.0.2, ssh: {port: 1}}]"
    (tmp_path / "inventory.yaml").write_text(f"cluster: lab\nhosts: {hosts}\n")
    told = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.returncode == 4
    for claim in ("no jobs", "nothing is left over", "nobody waits"):
        assert claim not in told.stdout + told.stderr
