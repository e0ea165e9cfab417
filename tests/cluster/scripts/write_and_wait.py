"""Writes an output file, then runs gate.py.

If the gate's name begins with `stubborn`, ranks ignore SIGTERM. If it begins with `careful`, ranks other than
0 write another output for three seconds on SIGTERM, then exit."""

import os
import runpy
import signal
import sys
import time
from pathlib import Path

rank, out = os.environ["HVDOCKER_RANK"], Path(os.environ["HVDOCKER_OUTPUT_DIR"])


def leave(*_: object) -> None:
    with (out / f"farewell-{rank}.txt").open("w") as file:
        for number in range(30):
            print(number, file=file, flush=True)
            time.sleep(0.1)
    sys.exit(143)


(out / f"rank-{rank}.txt").write_text(f"rank {rank} was here\n")
if sys.argv[1].startswith("careful") and rank != "0":
    signal.signal(signal.SIGTERM, leave)
if sys.argv[1].startswith("stubborn"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
runpy.run_path(str(Path(__file__).with_name("gate.py")))
