"""One of many independent runs: `each.py RANK SIZE HOST LOCAL_RANK [--fail RANK] [--wait GATE]`.

It prints its arguments and variables. The rank of `--fail` exits with 5; the others wait for the gate in /data."""

import argparse
import os
import sys
import time
from pathlib import Path

from ranks import tell

parser = argparse.ArgumentParser()
parser.add_argument("filled", nargs=4)
parser.add_argument("--fail", default="")
parser.add_argument("--wait", default="")
args = parser.parse_args()
rank = os.environ["HVDOCKER_RANK"]
began = time.monotonic()
if args.fail == rank:
    print(f"run {rank} fails", flush=True)
    sys.exit(5)
while args.wait and not (Path("/data") / args.wait).exists():
    time.sleep(0.1)
tell(int(rank), int(os.environ["HVDOCKER_SIZE"]), [], arguments=args.filled, began=began, ended=time.monotonic())
