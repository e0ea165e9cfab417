"""Writes an output, then does as gate.py does. Behind a gate whose name begins with `stubborn` it does not
end when it is asked to."""

import os
import runpy
import signal
import sys
from pathlib import Path

rank = os.environ["HOROVOD_RANK"]
(Path(os.environ["HVDOCKER_OUTPUT_DIR"]) / f"rank-{rank}.txt").write_text(f"rank {rank} was here\n")
if sys.argv[1].startswith("stubborn"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
runpy.run_path(str(Path(__file__).with_name("gate.py")))
