"""The programs that run inside the containers of a cluster: the supervisor, the rank wrapper, `spawn` and `agent`
(start the processes of most launchers), `stacks` (reads the stacks of ranks that hang) and `check` (tests logins and
connections, and waits for the end of ranks). They use only the Python standard library and never talk to Docker.

The controller writes job.json and starts a master container, whose main process is `supervisor/supervisor.py`. The
supervisor runs the launcher (the program that starts the ranks). For most launchers this program is `bin/spawn`
(`spawner/spawner.py`). The launcher starts the rank wrapper (`rank/rank.py`) once for each rank. Ranks send marks
(one-line JSON messages) to the supervisor in their output. The supervisor turns the marks into record.json, which the
controller reads. To examine a hang, the supervisor calls `bin/stacks` (`hang/stacks.py`) on every host that has running
ranks. Supervisor and controller call `bin/check` (`checks/check.py`).

All formats that controller, supervisor and ranks exchange are in the package hvdocker.protocol, which the build puts
beside this one. Imports go downwards only: hvdocker.protocol and runtime are at the bottom, then launchers and checks,
then rank, then hang and spawner, then supervisor. To support another launcher, see `launchers/__init__.py`."""
