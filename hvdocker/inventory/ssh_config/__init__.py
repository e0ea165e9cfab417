"""OpenSSH's client configuration, read as OpenSSH reads it. Contacts no host.

lines.py reads the files with their Includes into lines, and refuses keywords that keywords.py does not know.
match.py selects the options that apply to a host. config.py loads the user's and the system's file, answers
lookups for connections, lists the hosts for `init`, and combines the options with the inventory for `config`. Only
patterns.py is pure: config.py and lines.py read files, match.py runs the commands of `Match exec` and may resolve
names, and keywords.py may run `ssh -G`.

Paramiko's own reader is not used, because it does not know `Include` and refuses `Match final all`. A test
compares the results with `ssh -G`."""
