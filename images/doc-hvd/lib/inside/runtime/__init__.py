"""Processes, signals and the event loop: what all programs in `inside` are built on. It knows no job and no
launcher, but for `secrets.py`, which removes a job's secrets.

`signals.py` turns signals into bytes in a pipe, and `loop.py` polls that pipe, files and deadlines in one
place, so a stop request is seen whatever the supervisor is doing. `child.py` starts one command in its own
session and ends it; `parallel_commands.py` runs many short commands at once on the loop. `processes.py` reads
/proc, `interfaces.py` asks the kernel for network interfaces, and `say.py` prints messages to the user. Only
parsing functions here are pure (`processes.parse_stat`, `interfaces.parse_address`); everything else acts.
"""
