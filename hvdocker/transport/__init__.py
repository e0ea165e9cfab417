"""Links to hosts: one connection per host, which carries commands, byte streams and the Docker API. Large uploads use a
second connection (`ssh/openssh/`).

`link.py` defines `HostLink`, the interface through which every other package reaches a host. It has three
implementations: `ssh/link.py` (SSH), `local_link.py` (the controller itself) and `reconnecting_link.py` (reopens a lost
link). `session.py` opens the links to all hosts of an inventory for one verb, asks the user about unknown host keys and
passphrases, and closes the links at the end. `pool.py` runs work on all hosts at once, in threads. `background.py` runs
work that may block, and work that Ctrl-C must not interrupt. `docker_api.py` makes the Docker SDK send its requests
over channels of a link. `errors.py` turns exceptions of paramiko, docker and requests, and errors of the operating
system, into `HvdockerError`s. Pure (no I/O): `ssh/command_line.py`, `ssh/framing.py`, and `choice.py` and
`arguments.py` in `ssh/openssh/`. The docstring of `ssh/connect.py` describes a connection step by step.

To add a kind of link, implement `HostLink` in a new file and choose it in `session._open_named`."""
