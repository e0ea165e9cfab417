"""The observed state of the hosts: probe, GPUs, engine and containers. Changes nothing on a host.

`hosts.py` is the entry point. For each host it runs the probe (the script of `probe.py`), asks the engine through
`engine.py`, and queries the NVIDIA driver with the script of `gpu_query.py` if the host has nvidia-smi. All hosts are
observed in parallel. The answers become values of `state.py` (`HostSeen`, `ContainerSeen`, `ClusterState`) and of
`gpu.py`. The planners of other packages decide from these values. `masters.py` lists the job containers of all
clusters on a host, and `clock.py` reads a host's clock.

Pure files: `clock.py`, `gpu.py`, `gpu_query.py`, `probe.py` and `state.py`. `engine.py`, `hosts.py` and `masters.py`
talk to hosts. To observe something new, print a `key value` line in the script of `probe.py`, add a field to
`HostSeen`, and fill it in `hosts.py`."""
