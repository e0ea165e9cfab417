"""Prints increasing numbers until the file named by the first argument exists in /data."""

import os
import sys
import time
from itertools import count
from pathlib import Path

print(f"this is start {os.environ['HVDOCKER_RESTART']}", flush=True)
for number in count():
    print(f"number {number}", flush=True)
    if (Path("/data") / sys.argv[1]).exists():
        break
    time.sleep(0.1)
print("the end", flush=True)
