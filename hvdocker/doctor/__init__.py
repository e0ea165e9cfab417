"""The verb `doctor`: finds out whether the hosts are ready to train, and removes all that it creates on them.

`doctor.py` connects to all hosts and observes them as other verbs do (package `observe`). Then `examine_host.py`
gathers the facts of each host (`facts/`), `doctor.py` reads the network interfaces, and `pairs/` tries the connections
between every pair of hosts from inside containers. `judges/` turns the facts into findings, and `report.py` has the
values of the report. `preflight.py` runs only the cheap checks, before `run` creates anything. `report.py` and
`judges/` are pure; so are the command builders and parsers in `facts/` and `pairs/`.

To add a check, write a judge in `judges/` that returns a `Finding`, call it from `judges/host.py` and add its name to
GROUPS in console/views/doctor.py. A new fact also needs `facts/commands.py` (the script), `facts/parse_machine.py` (the
parser) and `facts/facts.py` (the field)."""
