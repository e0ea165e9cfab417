"""Whether hosts are ready to train: facts, judges, every pair of hosts."""
