"""Starts the processes of a job for most launchers, and collects their output. A process is a rank wrapper, or a
program that starts rank wrappers itself (torchrun, mpirun).

`spawner.py` is the program `spawn`, a child of the supervisor on the head. It starts an agent on each host
(`agent.py`), and controls the agent over a connection. The agent starts processes, gives each line of a rank its
header, and reports how processes end. `agent_link.py` is the spawner's end of a connection, `agent_child.py` a process
of the agent, `rank_socket.py` the agent's socket for ranks that another program starts. `streams.py` reads and writes
the pipes, `line_collector.py` makes lines of their bytes, `control.py` has the messages between spawner and agents, and
`orphans.py` ends processes that lost their parent. `schedule.py` decides which process runs in which slot. For an
elastic job, `elastic_hosts.py` decides which hosts take part, and `elastic.py` starts and ends programs on them.
`control.py`, `line_collector.py`, `schedule.py` and `elastic_hosts.py` are pure.

The grace is the time that a process gets between SIGTERM and SIGKILL: the job's `grace_s`, and often a few seconds
more."""
