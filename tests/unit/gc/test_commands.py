"""The script that looks for run folders and stale feeds, run by this machine's shell."""

import os
import subprocess
import time
from pathlib import Path

from hvdocker import names
from hvdocker.gc.commands import list_leftovers, read_leftovers
from hvdocker.gc.leftovers import RunFolder


def look(home: Path) -> tuple[tuple[RunFolder, ...], tuple[str, ...]]:
    argv = [word.replace("/var/tmp", str(home / "tmp")) for word in list_leftovers("h1").argv]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(home)})
    found = read_leftovers(done.stdout)
    assert found is not None, done
    return found


def test_marks_tell_the_cluster_the_token_and_the_owner(tmp_path: Path) -> None:
    ours = tmp_path / ".hvdocker"
    for folder in ("lab-aaaa", "shared-bbbb/h1", "shared-cccc/h2"):
        Path(names.run_mark(str(ours / folder), "beef", "kim/at work")).mkdir(parents=True)
    (ours / "lab" / "code").mkdir(parents=True)
    (ours / "bad name" / "run" / "beef@kim").mkdir(parents=True)
    (ours / "odd" / "run" / "no token").mkdir(parents=True)
    folders, feeds = look(tmp_path)
    assert folders == (
        RunFolder("lab-aaaa", "beef", "kim/at work"),
        RunFolder("shared-bbbb", "beef", "kim/at work"),
    )
    assert feeds == ()


def test_a_feed_is_stale_when_nothing_moved_for_an_hour_and_nobody_loads(tmp_path: Path) -> None:
    long_ago = time.time() - 2 * 3600
    for name, loading in (("old", None), ("busy", os.getpid()), ("new", None)):
        folder = tmp_path / "tmp" / f"hvdocker-feed-{name}"
        folder.mkdir(parents=True)
        if loading:
            (folder / "loading").write_text(str(loading))
            os.utime(folder / "loading", (long_ago, long_ago))
        if name != "new":
            os.utime(folder, (long_ago, long_ago))
    assert look(tmp_path) == ((), (str(tmp_path / "tmp" / "hvdocker-feed-old"),))


def test_a_script_that_did_not_run_to_its_end_tells_nothing() -> None:
    assert read_leftovers("run lab-aaaa beef@kim\n") is None
