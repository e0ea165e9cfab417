"""The verb demo: trains a small example on this machine alone, with the commands that a user would type."""
