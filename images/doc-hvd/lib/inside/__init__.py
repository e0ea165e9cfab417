"""The programs that run inside the containers of a cluster: supervisor, rank wrapper, stacks and checks. They
use only the Python standard library and never talk to Docker.

The controller writes job.json and starts a master container, whose main process is
`supervisor/supervisor.py`. The supervisor runs the launcher (horovodrun), which starts `rank/rank.py` once
for each rank on every host. Ranks send marks (`protocol/marks.py`) back through their stderr; the supervisor
turns them into record.json, which the controller reads. The supervisor calls `bin/stacks` (`hang/stacks.py`)
on every host to examine a hang; supervisor and controller call `bin/check` (`checks/check.py`).

Imports go downwards only: protocol and runtime are at the bottom, then launchers, rank and checks, then hang,
then supervisor. To support another launcher, add a file to `launchers/`.
"""
