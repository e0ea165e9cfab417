"""The SSH connection to a host. The only importer of fabric and cryptography.

`connect.py` opens the connection, and its docstring describes all steps: `tcp.py` makes the socket, `handshake.py` does
the SSH handshake within its limit, `host_keys.py` checks the key of the host against known_hosts, `auth.py` logs in
with key files, the keys of `agent.py` and the user's `certificates.py`, and `keepalive.py` detects hosts that stop
responding. `connect_errors.py` says what failed. `link.py` makes a `HostLink` of the open connection, on channels from
`channel.py`, which builds on `channel_close.py`. `framing.py` marks the output of a command, and `remote_command.py`
sends its input and reads its output between the marks. `openssh/` sends large uploads through the program ssh.
`command_line.py` gives the equivalent `ssh` command. `key_pairs.py` makes the keys that the containers of a cluster
use; it does not concern the connection. `framing.py` and `command_line.py` are pure.

Private names of paramiko that files here use or replace are listed in constants `…_PRIVATE_NAMES`, and a unit test
checks that they exist. To support another option of ~/.ssh/config, parse it in `inventory/ssh_config` and use it in
`connect.py`, and in `command_line.py` if it is an inventory key."""
