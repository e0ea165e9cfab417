"""Processes, signals, one loop: what every program here is built on."""
