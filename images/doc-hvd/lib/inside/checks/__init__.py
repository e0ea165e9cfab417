"""Checks that the controller or the supervisor runs in a container, with the program `bin/check`. `check.py` parses
the command line and has the checks of a cluster: `sshd` (does an SSH server answer) and `mesh` (can this container log
in to all given hosts). `wait_gone.py` has the check `gone`, which waits until the ranks of a job are gone from this
container.

The other checks are for `doctor`. `listen.py` opens ports on every host and answers there in the background. Then
`pairs.py` on every host connects to these ports, and `path_mtu.py` finds the largest packet that arrives. They print
JSON that `hvdocker/doctor/pairs` judges. To add a check, add its words to `check.main` and `USAGE`, and its command on
the controller's side."""
