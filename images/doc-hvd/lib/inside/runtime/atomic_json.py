"""Writes a JSON file either completely or not at all."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Mapping[str, Any]) -> None:  # Any: JSON
    """Write `value` to `path`, so that a reader sees the old file or the new one, never a partly written one. Raises
    OSError if the file cannot be written."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(path)
