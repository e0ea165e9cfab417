"""Who carries out the steps of a cluster."""

from __future__ import annotations

from hvdocker.cluster import join_actions, removal, worker_actions

ACTIONS = {**worker_actions.ACTIONS, **join_actions.ACTIONS, **removal.ACTIONS}
