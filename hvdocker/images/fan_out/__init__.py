"""Fan-out: hosts pass an image's layers on to each other, so that the controller sends each layer once.

`capabilities.py` finds out what a host has for it (ssh, sshd, the docker CLI, addresses, disk). `feeders.py`
decides whether the fan-out is worth it and arranges the hosts as a binary tree. `fan_out.py` runs the
transfer, with the commands, scripts and files of `commands.py`; `long_command.py` runs one command in a
thread. `capabilities.py` and `commands.py` are pure.

A host that feeds others runs an sshd of its own rather than a helper container or plain HTTP: it needs no
image to run, encrypts, has a pinned host key, and can only serve layers. Where fan-out is not possible, the
controller sends.
"""
