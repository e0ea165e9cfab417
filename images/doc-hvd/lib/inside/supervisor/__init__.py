"""The main process of a master: runs the launcher, runs it again, writes the record."""
