"""The facts about one host: how they are gathered, parsed and stored. Nothing is judged here.

`gather.py` runs the scripts of `commands.py` over the link and queries the engine; `parse_machine.py` turns
the output into the dataclasses of `facts.py`. `trial_container.py` starts a short-lived container of the
training image to see what ranks will see; `trial_commands.py` has its specification, script and parser.
`code_drift.py` compares the code on the host with the last sync. `interfaces.py` has the script for network
interfaces, and its parser. `commands`, `parse_machine`, `facts`, `interfaces` and `trial_commands` are pure;
the others use the link. To add a fact, touch `commands.py`, `parse_machine.py` and `facts.py`."""
