"""Decides what has to be done to a cluster. Pure: takes the observed state, returns plans, opens nothing.

`addresses.py` first turns inventory, state and scope into one `HostPlan` per host. `fitness.py` finds what
would make a worker fail there. `up.py` decides which workers have to be created and why, and `join.py` which
new hosts join a running elastic job. `workers.py` turns these decisions into stages; `up`, `keys rotate` and
`train` share them. `members.py` records which hosts trust each other. `down.py` plans the removal.
"""
