"""The main process of a master container. It runs the launcher (which starts the ranks), restarts the launcher after a
failure if the job allows restarts, and writes the job's record.

`supervisor.py` owns the job: it chooses the hosts of each run, calls `attempt.py` for one run of the launcher, and
decides what happens next. `attempt.py` starts the launcher. `launcher_output.py` reads the launcher's output and
forwards it through `progress_states.py`. `mark_filter.py` separates marks (JSON messages from rank wrappers to the
supervisor) from lines. Marks go to `rank_states.py`, which finds the first failure. Lines are split by
`line_splitter.py` and go to `log_rules.py` and to the hang watch in `inside/hang`. `record.py` collects the results and
the versions from `versions.py`, and writes record.json. After a failure `host_probes.py` asks which workers respond,
and `restarts.py` decides about a restart. Only elastic jobs use `discovery.py` and `logins.py` (the list of hosts for
the launcher) and `failing_hosts.py` (hosts whose ranks fail repeatedly).

All behaviour that differs between launchers is in the launcher objects of `inside/launchers`. Everything runs in one
thread, on the event loop of `inside/runtime/loop.py`. `restarts.py` and `rank_states.py` are pure: they open nothing
and run nothing. A new reaction to the lines of ranks goes into `log_rules.py`. A new key of the record goes into
`record.py` here, and into writer and reader in `hvdocker/protocol/record.py`."""
