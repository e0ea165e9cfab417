"""Prints all its secrets on both streams, prints mode, owner and hash of their files, then waits for a file
in /data.

`leak_secrets.py GATE RANK CODE`: that rank does not wait but fails with that code."""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

gate, *fails = sys.argv[1:]
rank = os.environ["HVDOCKER_RANK"]
folder = Path(os.environ["HVDOCKER_SECRETS"])
told = {}
for path in sorted(folder.iterdir()):
    value = path.read_text()
    print(f"out {path.name} is {value}.", flush=True)
    print(f"err {path.name} is {value}.", file=sys.stderr, flush=True)
    # Byte by byte, as a slow writer does.
    for letter in f"slowly {value}\n":
        os.write(1, letter.encode())
    look = path.stat()
    told[path.name] = [
        oct(look.st_mode),
        look.st_uid == os.getuid(),
        hashlib.sha256(value.encode()).hexdigest(),
    ]
mode = oct(folder.stat().st_mode)
print("told " + json.dumps({"rank": rank, "folder": [str(folder), mode], "secrets": told}), flush=True)
if fails and fails[0] == rank:
    sys.exit(int(fails[1]))
while not (Path("/data") / gate).exists():
    time.sleep(0.1)
