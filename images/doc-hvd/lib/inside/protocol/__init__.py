"""The files and messages that controller, supervisor and ranks exchange, and their places in a container. Imports
nothing else of `inside`.

The controller writes job.json; `job.py` and `resilience.py` parse it. `paths.py` and `layout.py` say where files
are. `marks.py` defines the messages that ranks send to the supervisor. `rank_registry.py` keeps a file for each
running rank, which the programs `stacks` and `check` read. `atomic_json.py` writes JSON files. `marks.py`,
`resilience.py` and `paths.py` are pure. The same formats are defined for the controller in `hvdocker/protocol`:
change both together."""
