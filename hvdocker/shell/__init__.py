"""Commands for a POSIX shell, as tuples of words. Pure: nothing here runs a command.

`command.py` defines `Command`, whose method `line` quotes the words for a shell. `host_folders.py` builds
the commands for hvdocker's folders on a host. A `HostLink` (transport) runs the commands; `script/` prints
them. Commands of other subjects are in their packages, mostly in `commands.py` or `*_commands.py`. Variable
values go into the script of a `shell` command only as arguments ($1, $2, …); only constants are formatted into it."""
