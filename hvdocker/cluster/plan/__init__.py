"""Decides which changes a cluster needs. Pure: takes the observed state, returns plans, contacts no host.

`addresses.py` comes first: it turns the inventory, the observed state and the scope (the hosts and slots that the
cluster gets) into one `HostPlan` per host. `fitness.py` finds what would make a worker fail on a host. `up.py`
decides which workers have to be created and why, and `join.py` which new hosts join a running elastic job.
`workers.py` turns these decisions into the stages that `up`, `keys rotate` and `train` share. `members.py` records
which hosts trust each other. `down.py` plans the removal of a cluster.
"""
