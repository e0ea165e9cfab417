"""Each rank writes the arguments, environment and file names that it received to an output file, and creates
output files with the same names."""

import json
import os
import sys
from pathlib import Path

rank = os.environ["HVDOCKER_RANK"]
out = Path(os.environ["HVDOCKER_OUTPUT_DIR"])
told = {
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "code": {path.name: path.read_text() for path in Path("names").iterdir()},
    "mounted": Path("/odd/whose.txt").read_text(),
    "script": sys.argv[0],
}
(out / f"told-{rank}.json").write_text(json.dumps(told))
for name in told["code"]:
    (out / f"{name}{rank}").write_text(name)
