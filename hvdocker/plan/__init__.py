"""DECISIONS: what to do, as data that prints itself and compares. Never does it."""
