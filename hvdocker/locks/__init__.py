"""Host locks and tickets: who holds a host, who waits, who is alive, whose cluster it is."""
