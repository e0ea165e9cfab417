"""Saves files in its working folder, as most scripts do. `--closed` also leaves outputs that are hard to read."""

import os
import sys
from pathlib import Path

rank = os.environ["HVDOCKER_RANK"]
word = sys.argv[1]
Path("checkpoints").mkdir(exist_ok=True)
Path(f"checkpoints/{word}-{rank}.h5").write_text(f"weights of rank {rank}")
Path(f"{word}.txt").write_text(f"by rank {rank}")
Path("settings.txt").write_text(f"changed by {word}")
Path("__pycache__").mkdir(exist_ok=True)
Path("__pycache__/cache.pyc").write_text("")
if "--closed" in sys.argv:
    out = Path(os.environ["HVDOCKER_OUTPUT_DIR"])
    (out / "readable.txt").write_text("readable")
    (out / "alias").symlink_to("readable.txt")
    (out / "locked" / "in").mkdir(parents=True)
    (out / "locked" / "in" / "file.txt").write_text("locked")
    (out / "private.txt").write_text("private")
    (out / "private.txt").chmod(0o600)
    (out / "locked").chmod(0)
    Path(f"{word}-private.txt").write_text("private")
    Path(f"{word}-private.txt").chmod(0o600)
print("saved")
