"""The state of hosts as it is observed: probe, GPUs, engine, containers. Changes nothing."""
