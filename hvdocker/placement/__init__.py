"""Which slots: offers, leases, the scope of a cluster, the queue."""
