"""Checks that run in a container for the controller or the supervisor, by `bin/check`. `check.py` parses the
command line and has the checks of a cluster: `sshd` (does the server greet) and `mesh` (can this container
log in to all given hosts). `wait_gone.py` (`gone`) waits for the ranks of an ended run.

The other checks are for `doctor`: `listen.py` opens ports on every host and answers in the background, then
`pairs.py` on every host connects to these ports, and `path_mtu.py` finds the largest packet that arrives.
They print JSON that `hvdocker/doctor/pairs` judges. To add a check, add its words to `check.main` and
`USAGE`, and its command on the controller's side.
"""
