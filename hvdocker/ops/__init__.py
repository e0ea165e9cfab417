"""VERBS: one file per command, usable as a Python API. No typer, no rich."""
