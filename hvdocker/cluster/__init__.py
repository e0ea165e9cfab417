"""A cluster of workers: the verbs up, down, status, keys, exec and ssh, one file per verb.

`up` and `down` observe the hosts (package observe), plan (`plan/`), take the locks, observe and plan again, and
apply the plan (package plan). `keys rotate` takes the locks before it observes. `steps.py` defines the steps of
a plan. `actions.py` maps each step to the function that carries it out, in `worker_actions.py`,
`join_actions.py` and `removal_actions.py`. `containers/` has the specification of workers, and the files that
workers and masters get. `unreachable_host.py` and `find_unreachable.py` handle hosts that do not answer while an
elastic job runs on without them.

Pure: `plan/`, `containers/`, `steps.py` and `unreachable_host.py`. To add a step, define it in `steps.py`, add its
action to one of the action files, and its shell version to the package script. To add a check before `up`,
extend `plan/fitness.py`. To add a verb, write V.py here and cli/V.py, and add it to cli/verb_table.py.
"""
