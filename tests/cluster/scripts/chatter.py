"""Draws a progress bar until the file named by the first argument exists in /data, then prints as many lines as the
second argument says."""

import os
import sys
import time
from itertools import count
from pathlib import Path

for number in count():
    print(f"\rstate {number}", end="", flush=True)
    if (Path("/data") / sys.argv[1]).exists():
        break
    time.sleep(0.1)
print("\rthe final state", flush=True)
for number in range(int(sys.argv[2])):
    print(f"line {number} of {os.environ['HVDOCKER_RANK']}")
