"""Processes, signals and the event loop, on which all programs in `inside` are built. Nothing here knows about
jobs or launchers, except `secrets.py`, which reads and removes a job's secrets.

`signals.py` turns signals into bytes in a pipe. `loop.py` polls that pipe, files and deadlines in one place, so a
stop request is seen whatever the supervisor is doing. `child.py` starts one command in its own session and ends
it; `parallel_commands.py` runs many short commands at once on the loop. `processes.py` reads /proc,
`interfaces.py` asks the kernel for network interfaces, and `say.py` prints messages to the user. Only the parsing
functions are pure (`processes.parse_stat`, `interfaces.parse_address`)."""
