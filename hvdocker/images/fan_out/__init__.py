"""Fan-out: hosts pass an image's layers on to each other, so that the controller sends each layer once.

`capabilities.py` finds out whether a host can take part (ssh, sshd, docker CLI, addresses, disk). `feeders.py` decides
whether the fan-out saves time, and arranges the hosts as a binary tree. `fan_out.py` runs the transfer, with the
commands, scripts and files of `commands.py`. `long_command.py` runs one command in a thread. `capabilities.py` and
`commands.py` are pure (no I/O).

A feed is a temporary sshd on a host, from which other hosts fetch layers. It is an sshd rather than a helper container
or plain HTTP, because sshd needs no image, encrypts, has a pinned host key, and can be restricted to serving layers.
If a host cannot take part, the controller sends the image to that host."""
