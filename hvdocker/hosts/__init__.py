"""THE OUTSIDE: links to hosts, their engines, files and keys; observing and applying."""
