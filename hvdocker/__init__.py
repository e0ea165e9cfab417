"""hvdocker: distributed training on a handful of Docker hosts, over SSH, without Kubernetes.

The controller is the machine on which the user runs hvdocker. The engine of a machine is its Docker daemon. In a local
cluster all workers run on the controller's engine.

A verb is a subcommand of hvdocker, such as `up` or `train`. Each folder covers one subject of the product, and the
file with the name of a verb implements that verb (`cluster/up.py`). `cli/` parses the flags of a verb and `console/`
prints its result. Python code can call the file of a verb directly, because that file imports neither typer nor
rich.

A verb that changes hosts goes through these steps: read the inventory (`inventory/`), connect (`transport/`), read
the state of the hosts (`observe/`), make a plan (`plan/`, and `plan.py` or the folder `plan/` of a subject), execute
the plan, and report.

The files in this folder are plain values that every package may import (`errors`, `names`, `units`, `secret`,
`events`), the surroundings of a verb, which tests can replace (`env`), and the location of data files (`assets`).
The plain values are pure: a module is pure if neither it nor anything that it imports has effects, such as reading a
file, the environment or the clock. `tests/unit/test_architecture.py` lists which package may import which, which
library belongs to which folder, and which modules are pure.

To add a verb, touch cli/VERB.py, cli/verb_table.py, SUBJECT/VERB.py, the table of the README, the reference
(`make reference`), and console/views/VERB.py if the verb shows a table."""

__version__ = "0.2.0"
