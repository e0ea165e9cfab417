"""Typer annotations of flags that several verbs share.

`job.py` has the flags of a job, for `train`, `run` and `replay`. `placement.py` has the flags that select slots, for
`up`, `train` and `run`. `verb.py` has the flags of most verbs, such as `-i`, `--quiet` and `--dry-run`. To add a
flag that several verbs take, define its annotation here and add a parameter to each command function."""
