"""The verb `gc`: finds what is no longer used on the hosts, and removes it.

`observe.py` looks at every host with the script of `commands.py` and returns a `HostLeftovers` (`leftovers.py`).
`plan.py` finds the dead runs (clusters whose `hvdocker run` is gone) and plans the removal of everything else that is
unused. `gc.py` shows the plan, asks the user, takes the locks, looks again and removes only what was confirmed and is
still unused. `commands.py`, `leftovers.py` and `plan.py` are pure. To collect another kind of leftover, add it to
`HostLeftovers`, read it in `commands.py` or `observe.py`, and plan its removal in `plan.py`."""
