"""Links to hosts: one connection per host, which carries commands, byte streams and the Docker API. Large uploads have
one of their own (`ssh/openssh/`).

`link.py` defines `HostLink`, the interface through which every other package reaches a host. It has three
implementations: `ssh/link.py` (SSH), `local_link.py` (the controller itself) and `reconnecting_link.py` (reopens a lost
link). `session.py` opens the links to all hosts of an inventory for one verb, asks the user about unknown host keys and
passphrases, and closes the links at the end. `pool.py` runs work on all hosts at once, in threads. `background.py` runs
work that may block or that Ctrl-C must not cut off. `docker_api.py` makes the Docker SDK send its requests over
channels of a link. `errors.py` turns exceptions of paramiko, docker, requests and the kernel into `HvdockerError`s.
Only `ssh/command_line.py` and `ssh/framing.py` are pure (they do no I/O). The docstring of `ssh/connect.py` describes a
connection step by step.

To add a kind of link, implement `HostLink` in a new file and choose it in `session._open_named`."""
