"""The containers of a cluster. Pure.

`roles.py` has the specifications of workers and of the containers of `doctor`; that of the master is in
training/plan. `ssh_files.py` renders the SSH files of a cluster. `files.py` says which files a worker or master
gets before it starts, and which are written again when workers are added or removed."""
