"""Makes the programs of the image importable: they are not part of the hvdocker package."""

import sys
from pathlib import Path

IMAGE = Path(__file__).parents[3] / "images" / "doc-hvd"
sys.path[:0] = [str(IMAGE / "lib"), str(IMAGE / "keras"), str(IMAGE / "stacks")]
