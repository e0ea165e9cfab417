"""OpenSSH's own program as the pipe for large uploads: a second login to a host, as the one exception to one connection
per host.

Python encrypts at about half the speed of OpenSSH, and only on one processor for all hosts together. So large files and
images go through `ssh`, if that program is installed. `choice.py` decides when that is worth the login. `hops.py`
describes the connection that is open already, with its jump hosts: addresses, users, host keys and ciphers.
`arguments.py` makes the same connection of it as an ssh command line. That command reads no configuration and accepts
only the host keys that the open connection was shown. `login_agent.py` signs the login with the key that the host
accepted before. So a key that was unlocked with a passphrase, a certificate and a key of the user's agent work, and no
key is written to a disk. `openssh.py` puts these together for one link.

An upload has two processes (`process.py`): one that is logged in (`login.py`), and one that runs the command through
the first (ControlMaster of ssh). So the command begins only when the login is known to be good: the login shell has
echoed a word. If the login fails, for whatever reason, or the host opens no session for the command, nothing was sent,
and the open connection carries the data; ssh is then not tried again on this link. All processes and files end with
hvdocker, even if it is killed, by way of a pipe that it holds.
`channel.py` makes a channel of the second process, for `remote_command.py` and for Docker's API. A file can be the
standard input of that process: its bytes then do not pass through Python.

`choice.py` and `arguments.py` are pure."""
