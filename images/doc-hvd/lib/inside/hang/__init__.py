"""Detects a hang and names the rank that the others wait for.

`watch.py` is a member of the supervisor's loop and owns the timer of `idle.py`. The supervisor feeds that
timer with beats and lines; it measures how long all ranks have been silent and idle. When that is too long,
`bundle.py` runs `bin/stacks` on every host of the job. That program is `stacks.py`: for each Python process
of a rank it tries py-spy through `short_command.py`, else `ask_python.py` sends a signal. `frames.py` parses
the stacks, `odd_rank.py` compares them, and `bundle.py` writes all of it to the job's logs. The supervisor
then decides whether to wait, restart or end the job. `idle.py`, `frames.py` and `odd_rank.py` are pure. A new
criterion for the odd rank goes into `odd_rank.odd_rank`.
"""
