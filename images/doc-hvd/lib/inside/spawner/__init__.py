"""Starts the ranks of a job for launchers that have no program of their own for this, and collects their output.

`spawner.py` is a child of the supervisor on the head. It keeps one connection to each host, over which it controls
`agent.py`. The agent starts processes, gives each line of a rank its header, and reports how processes end.
`agent_link.py` is the spawner's end of a connection, `agent_child.py` a process of the agent, `rank_socket.py` the
agent's socket for ranks that another program starts, `streams.py` the pipes between them. `elastic.py` adds and removes
hosts of an elastic job. `control.py`, `line_collector.py` and `schedule.py` are pure."""
