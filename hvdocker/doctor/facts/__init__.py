"""The facts about one host: how they are gathered, parsed and stored. Nothing is judged here.

`gather.py` runs the scripts of `commands.py` over the link and queries the engine; `parse_machine.py` turns the
output into the dataclasses of `facts.py`. `trial_container.py` starts a short-lived container of the training image,
to find out what ranks will find in it (limits, versions, GPUs); `trial_commands.py` has its specification, script and
parser. `code_drift.py` finds files that were edited on the host since the last sync. `interfaces.py` has the script
for network interfaces, and its parser. `commands.py`, `parse_machine.py`, `facts.py`, `interfaces.py` and
`trial_commands.py` are pure; the others use the link. To add a fact, change `commands.py`, `parse_machine.py` and
`facts.py`."""
