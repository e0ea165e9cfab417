"""The main process of a master container. It runs the launcher, restarts it after a failure where the job
allows that, and writes the job's record.

`supervisor.py` owns the job: it chooses the hosts of each run, calls `attempt.py` for one run of the
launcher, and decides what follows. `attempt.py` starts the launcher; `launcher_output.py` reads its output,
forwards it, and splits it into marks (to `rank_states.py`, which finds the first failure) and lines
(`line_splitter.py`, to `log_rules.py` and to the hang watch in `inside/hang`). `record.py` collects all of
this and writes record.json. After a failure `host_probes.py` asks which workers respond and `restarts.py`
decides. Only elastic jobs use `discovery.py` and `logins.py` (the list of hosts for Horovod) and
`failing_hosts.py` (hosts that fail at every start).

Everything runs in one thread on `inside/runtime/loop.py`. `restarts.py` and `rank_states.py` are pure: they
open nothing and run nothing. A new reaction to the lines of ranks goes into `log_rules.py`; a new key of the
record goes into `record.py`, and into the controller's reader in `hvdocker/protocol`.
"""
