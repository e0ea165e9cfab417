"""The rank wrapper: the program that the launcher starts as each rank. It gives the user's command its environment,
forwards its output, reports how it ends, and makes sure that it does not outlive the launcher.

`rank.py` splits into two processes, a guard and the one that runs the rank from start to end. `environment.py` builds
the variables of the command, and `out_link.py` points /out to the job. While the command runs, `wait.py` polls for
signals, output and lost connections. `relay.py` reads the output of the command, `masking.py` replaces secrets in it,
and `log.py` keeps a copy on the host. `heartbeat.py` sends the usage that `usage.py` measures, and `link_watch.py`
notices a dead connection to the launcher. At the end `oom.py` says whether memory ran out, `report.py` sends and writes
the result, and `descendants.py` ends processes that the command left behind. `masking.py` is pure, and so is
`environment.py` except for `read_image_env`. To give ranks another variable, add it to `environment.rank_env`, or to
`rank_env` of their launcher."""
