"""Checks that the controller or the supervisor runs in a container, with the program `bin/check`. `check.py` parses the
command line and has the checks of a cluster: `sshd` (does an SSH server answer) and `mesh` (can this container log in
to all given hosts). `wait_gone.py` has the check `gone`, which waits until the ranks of a job have ended in this
container.

The other checks are for the verb `doctor`. On every host `listen.py` opens ports and serves them in the background.
Then, also on every host, `pairs.py` connects to the ports of the other hosts, and `path_mtu.py` finds the largest
packet that arrives. The checks print JSON, and `hvdocker/doctor/pairs` judges it. To add a check, add its name and
arguments to `check.main` and `USAGE`, and add the command that runs it on the controller's side."""
