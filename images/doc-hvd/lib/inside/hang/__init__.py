"""Detects a hang, and names the odd rank: the rank that the others probably wait for.

`watch.py` decides when a run of the launcher hangs; the supervisor's event loop calls it. It owns the timer of
`idle.py`, which measures how long all ranks have been silent and idle. The supervisor passes the heartbeats and lines
of ranks to this timer. When the silence is too long, `bundle.py` runs the program `bin/stacks` on every host that has
running ranks. This program is `stacks.py`. For each Python process of a rank it runs py-spy through `short_command.py`;
if py-spy fails, `ask_python.py` sends the process a signal, on which the process writes its stacks itself. `frames.py`
parses the stacks, `odd_rank.py` compares them, and `bundle.py` writes all of it to the job's logs. The supervisor then
decides whether to wait, restart or end the job.

`idle.py`, `frames.py` and `odd_rank.py` are pure: they open nothing and run nothing. A new criterion for the odd rank
goes into `odd_rank.odd_rank`."""
