"""The inventory: its keys, its file, which one is meant, and what ~/.ssh/config adds to it."""
