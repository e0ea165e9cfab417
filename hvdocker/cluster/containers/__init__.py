"""The containers of a cluster. Pure.

`roles.py` has the specifications of worker and doctor containers; the master's is in training/plan.
`ssh_files.py` writes the SSH configuration of a cluster, and `files.py` says which files a container gets
before it starts, or later when members change."""
