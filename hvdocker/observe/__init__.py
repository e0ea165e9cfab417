"""The observed state of the hosts: probe, GPUs, engine and containers. Changes nothing on a host.

`hosts.py` is the entry point. For each host it runs the probe (the script of `probe.py`), asks the engine through
`engine.py`, and queries the NVIDIA driver with the script of `gpu_query.py` if the host has nvidia-smi. All hosts are
observed in parallel. The answers become values of `state.py` (`HostSeen`, `ContainerSeen`, `ClusterState`) and of
`gpu.py`. The planners of other packages decide from these values. `cluster_image.py` finds the name of the cluster's
image. `masters.py` lists the job containers of all clusters on a host, `listening.py` the ports on which hosts listen,
and `clock.py` has the command that reads a host's clock.

Only `engine.py`, `hosts.py`, `listening.py` and `masters.py` talk to hosts; the other files are pure. To observe
something new, print a `key value` line in the script of `probe.py`, add a field to `HostSeen`, and fill it in
`hosts.py`."""
