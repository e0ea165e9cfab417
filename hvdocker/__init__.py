"""hvdocker: distributed training on a handful of Docker hosts, over SSH, without Kubernetes.

A folder is a subject of the product, and a file with the name of a verb implements that verb; `cli/` parses
its flags and `console/` prints its result. Python code can call the file of a verb directly: it imports
neither typer nor rich. A verb that changes hosts goes through these steps: read the inventory
(`inventory/`), connect (`transport/`), read the state of the hosts (`observe/`), make a plan (`plan/` and the
`plan.py` of a subject), execute it, and report. The files in this folder are plain values that every package
may import (`errors`, `names`, `units`, `secret`, `events`; all pure), the injectable surroundings of a verb
(`env`) and the place of data files (`assets`). `tests/unit/test_architecture.py` lists which package may
import which, which library belongs to which folder, and which modules are pure. To add a verb, touch
cli/VERB.py, cli/verb_table.py, SUBJECT/VERB.py, console/views/VERB.py if it shows a table, and the
README."""

__version__ = "0.1.0"
