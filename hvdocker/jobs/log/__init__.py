"""Read a job's output.

While the master container exists, `stream` follows its log over links that may break, `reconnect` reopens them, `tail`
reads the last lines and says where to continue, and `save` copies the log to the controller. `since` parses `--since`
and converts it to the clock of the host. Without a container, `copies` reads the copy on the controller or the ranks'
own log files on the hosts. `rank_logs` has the shell commands for those files and parses their output; it is pure."""
