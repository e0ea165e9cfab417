"""A cluster of workers: up, down, status, keys, and commands in it."""
