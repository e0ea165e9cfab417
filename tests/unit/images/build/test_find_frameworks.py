"""The search for frameworks, run by this machine's Python with a PATH of scripts."""

import json
import subprocess
import sys
from pathlib import Path

from hvdocker import assets

SCRIPT = (assets.image_dir() / "build" / "find-frameworks").read_text()


def test_pythons_that_are_none_are_passed_over_and_the_others_asked(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder, text in ((theirs, "echo this is their python"), (ours, f'exec {sys.executable} "$@"')):
        folder.mkdir()
        (folder / "python").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "python").chmod(0o755)
    (ours / "mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    (ours / "mpirun").chmod(0o755)
    path = f"{theirs}:{ours}:{tmp_path}/nowhere"
    words = [sys.executable, "-I", "-c", SCRIPT, "pytest", "no-such-package"]
    done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=True)
    (python,) = (answer := json.loads(done.stdout))["pythons"]
    assert python["path"] == str(ours / "python") and list(python["packages"]) == ["pytest"]
    assert answer["openmpi"] == "4.1.4" and answer["closed"] == []
