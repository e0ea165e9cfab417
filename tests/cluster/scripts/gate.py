"""Waits until the file named by the first argument (the gate) exists in /data.

Meanwhile it has a child process, and one in a separate session, like the service of an experiment tracker,
which it leaves behind. `gate.py NAME RANK CODE`: that rank does not wait but fails with that code."""

import os
import subprocess
import sys
import time
from pathlib import Path

name, *fails = sys.argv[1:]
rank = os.environ["HVDOCKER_RANK"]
if fails and fails[0] == rank:
    print("first words", flush=True)
    print("last words before the end", file=sys.stderr, flush=True)
    sys.exit(int(fails[1]))
service = subprocess.Popen(["sleep", "700"], start_new_session=True)
with subprocess.Popen(["sleep", "600"]) as child:
    print(f"waiting for {name}", flush=True)
    while not (Path("/data") / name).exists():
        time.sleep(0.1)
    child.kill()
print(f"{name} has come")
