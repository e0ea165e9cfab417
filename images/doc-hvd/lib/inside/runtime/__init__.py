"""Processes, signals, files and the event loop, on which all programs in `inside` are built. Nothing here imports
`inside/launchers`.

`signals.py` turns signals into bytes in a pipe. `loop.py` polls that pipe, files and deadlines in one place, so a stop
request is seen whatever a program is doing. `program.py` starts a program of `bin/`. `child.py` starts one command in
its own session and ends it; `parallel_commands.py` runs many short commands at once on the loop. `processes.py` reads
/proc, `interfaces.py` asks the kernel for network interfaces, and `say.py` prints messages to the user. `read_job.py`
reads job.json, `secrets.py` reads and removes a job's secrets, `rank_registry.py` keeps a file for each running rank,
`rank_channel.py` connects a rank's output to the spawner's agent, `atomic_json.py` writes JSON files, and `layout.py`
has the folders of a container. `layout.py` and the parsing functions (`processes.parse_stat`,
`interfaces.parse_address`, `rank_channel.parse_header`) are pure."""
