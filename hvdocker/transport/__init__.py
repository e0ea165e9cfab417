"""Links to hosts: one connection each, with commands, streams and the engine's API on it."""
