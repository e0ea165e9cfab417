"""Checks every pair of hosts in both directions, from inside the training image.

`examine.py` runs the checks. It uses the workers if the whole cluster is up; otherwise it starts a probe container on
every host (`probe_containers.py`). In each container it runs `check listen`, which opens ports. Then it runs
`check pairs` on all hosts at once, which tries the ports of the other hosts. `doctor --deep` also measures the
bandwidth, in the rounds of `round_robin.py`. `commands.py` has the argv and parsers of these programs.

The results are a `PairResults` (`pair_results.py`), with a `SkipReason` (`skip_reasons.py`) for each host that could
not be checked. `judge.py` turns them into reports with the judges of `reachability.py` (SSH and ports) and
`mtu_and_speed.py` (MTU, round trip, bandwidth). `save_speeds.py` stores measured speeds for placement. All files are
pure except `examine.py`, `probe_containers.py` and `save_speeds.py`. A new check also needs its half in the image, in
images/doc-hvd/lib/inside/checks/."""
