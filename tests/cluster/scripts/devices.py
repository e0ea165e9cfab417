"""Each rank prints which GPUs it may see. With an argument it then waits until that file exists in /data."""

import json
import os
import sys
import time
from pathlib import Path

told = {
    "rank": int(os.environ["HVDOCKER_RANK"]),
    "local": int(os.environ["HVDOCKER_LOCAL_RANK"]),
    "host": os.environ["HVDOCKER_HOST"],
    "sees": os.environ.get("CUDA_VISIBLE_DEVICES"),
    "container": os.environ.get("NVIDIA_VISIBLE_DEVICES"),
}
print("told", json.dumps(told), flush=True)
for name in sys.argv[1:]:
    while not (Path("/data") / name).exists():
        time.sleep(0.1)
