"""Maps every step type of `steps.py` to the function that carries it out.

The package plan looks up the table `ACTIONS` here when it applies a plan."""

from __future__ import annotations

from hvdocker.cluster import join_actions, removal_actions, worker_actions

ACTIONS = {**worker_actions.ACTIONS, **join_actions.ACTIONS, **removal_actions.ACTIONS}
