"""OpenSSH's client configuration, read as OpenSSH reads it. Contacts no host.

lines.py reads the files with their Includes into lines. match.py selects the options that apply to a host.
config.py loads the user's and the system's file, answers lookups for connections, and combines the options
with the inventory for `init` and `config`. No file is pure: they read files, and match.py runs the commands
of `Match exec` and may resolve names.

Paramiko's own reader is not used, because it does not know `Include` and refuses `Match final all`. A test
compares the results with `ssh -G`."""
