"""Sends large uploads through OpenSSH's program `ssh`, which logs in to the host a second time. All other traffic of a
host uses one connection.

Python encrypts at about half the speed of OpenSSH, and only on one processor for all hosts together. So large files and
images go through `ssh`, if that program is installed. `choice.py` decides when an upload is worth the second login.
`hops.py` describes the connection that is already open, with its jump hosts: addresses, users, host keys and ciphers.
`arguments.py` turns the description into an ssh command line. That command reads no configuration and accepts only the
host keys that the servers of the open connection showed. `login_agent.py` signs the login with the key that the host
accepted before. So a key with a passphrase, a certificate and a key of the user's agent all work, and no key is written
to a disk. `openssh.py` is the entry point, with one object for each link.

An upload has two processes (`process.py`). The first logs in (`login.py`). The second runs the command through the
first (ssh's ControlMaster), so the command begins only after the login has succeeded. If the login fails, nothing was
sent: the open connection carries the data, and ssh is not tried again on this link. `channel.py` presents the second
process as a channel to `remote_command.py` and to the Docker SDK. A file can be the standard input of that process; its
bytes then do not pass through Python.

`choice.py` and `arguments.py` are pure."""
