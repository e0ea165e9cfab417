"""Writes files that are equal on all hosts, files that differ, and files that only one host has."""

import os
from pathlib import Path

rank = os.environ["HVDOCKER_RANK"]
out = Path(os.environ["HVDOCKER_OUTPUT_DIR"])
(out / "equal.txt").write_text("the same everywhere\n")
(out / "differs.txt").write_text(f"by rank {rank}\n")
(out / "deep" / "er").mkdir(parents=True)
(out / "deep" / "er" / f"only-{rank}.txt").write_text(rank)
if rank == "0":
    Path("/out/through-the-link.txt").write_text("there\n")
print("written")
