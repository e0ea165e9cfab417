"""The image's own programs are no part of the hvdocker package: make them importable here."""

import sys
from pathlib import Path

IMAGE = Path(__file__).parents[3] / "images" / "doc-hvd"
sys.path[:0] = [str(IMAGE / "lib"), str(IMAGE / "keras"), str(IMAGE / "stacks")]
