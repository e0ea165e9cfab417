"""Plans as data, and their execution. Knows no particular step.

`plan.py` (pure) defines `Step`, `Stage` and `Plan`. Other packages, such as `jobs`, define steps in
`<subject>/steps.py` and combine them in `<subject>/plan.py` or `<subject>/plan/`. `apply.py` executes a plan: it goes
through the waves (groups of stages), runs the steps of all hosts at once, and records how to undo what was created.
For every step `actions.py` finds the function that executes it: `ACTIONS` in `<subject>/actions.py`, beside the
`steps.py` that defines the step.

To add a step, define it in `<subject>/steps.py`, add its function to `ACTIONS` in `<subject>/actions.py`, and the
function that writes its commands for `--script` to the table in `script/script.py`. Work that all hosts of a stage
share goes into a context manager `prepare` in `<subject>/actions.py`."""
