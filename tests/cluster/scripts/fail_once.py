"""Fails in the first run of the job and continues from its saved file in the next: `fail_once.py RANK CODE
[LINE]`. That rank prints the line and exits with the code."""

import os
import sys
from pathlib import Path

failing, code, *words = sys.argv[1:]
rank, restart = os.environ["HVDOCKER_RANK"], int(os.environ["HVDOCKER_RESTART"])
kept = Path(os.environ["HVDOCKER_OUTPUT_DIR"]) / f"kept-{rank}.txt"
before = kept.read_text() if kept.exists() else "nothing"
kept.write_text(f"run {restart}")
print(f"run {restart} of rank {rank} of {os.environ['HVDOCKER_SIZE']}: kept {before}", flush=True)
if rank == failing and restart == 0:
    print(*words, flush=True)
    sys.exit(int(code))
