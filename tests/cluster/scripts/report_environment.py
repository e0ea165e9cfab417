"""Each rank prints one line of JSON: its arguments, environment, working folder, files and /data."""

import json
import os
import sys
from pathlib import Path

data = Path("/data")
told = {
    "rank": int(os.environ["HVDOCKER_RANK"]),
    "size": int(os.environ["HVDOCKER_SIZE"]),
    "address": os.environ["HVDOCKER_ADDRESS"],
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "folder": str(Path.cwd()),
    "files": sorted(str(path) for path in Path().rglob("*") if path.is_file()),
    "data": {path.name: path.read_text() for path in data.glob("*.txt")} if data.is_dir() else None,
    "may write data": os.access(data, os.W_OK),
}
print("told", json.dumps(told))
