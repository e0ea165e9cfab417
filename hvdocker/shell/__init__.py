"""Commands for a POSIX shell, as tuples of words. Pure: nothing here runs a command.

`command.py` defines `Command` and is the only place that quotes words for a shell. `host_folders.py` builds
the commands for hvdocker's folders on a host. A `HostLink` (transport) runs the commands; `script/` prints
them. Commands of other subjects are in the `commands.py` or `*_commands.py` of their package. Variable
values go into scripts only as arguments ($1, $2, …); only constants are formatted into a script."""
