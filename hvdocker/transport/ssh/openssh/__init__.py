"""Sends large uploads through OpenSSH's program `ssh`, which logs in to the host a second time. All other traffic of a
host uses one connection.

Python encrypts at about half the speed of OpenSSH, and only on one processor for all hosts together. So large files and
images go through `ssh`, if that program is installed. `choice.py` decides when an upload is worth the second login.
`hops.py` describes the connection that is already open, with its jump hosts: addresses, users, host keys and ciphers.
`arguments.py` turns the description into an ssh command line. That command reads no configuration and accepts only the
host keys that the servers of the open connection showed. `login_agent.py` signs the login with the key that the host
accepted before. So a key with a passphrase, a certificate and a key of the user's agent all work, and no key is written
to a disk. `openssh.py` is the entry point, with one object for each link.

An upload has two processes (`process.py`): one that is logged in (`login.py`), and one that runs the command through
the first (ControlMaster of ssh). So the command begins only when the login is known to be good: the login shell has
echoed a word. If the login fails, for whatever reason, or the host opens no session for the command, nothing was sent,
and the open connection carries the data; ssh is then not tried again on this link. All processes and files end with
hvdocker, even if it is killed, by way of a pipe that it holds.
`channel.py` makes a channel of the second process, for `remote_command.py` and for Docker's API. A file can be the
standard input of that process: its bytes then do not pass through Python.

`choice.py` and `arguments.py` are pure."""
