"""Checks every pair of hosts in both directions, from inside the training image.

`examine.py` runs the checks: it starts a probe container on every host (`probe_containers.py`) or uses the
workers if the whole cluster is up. In each it runs `check listen`, then on all hosts at once `check pairs`
(argv and parsers in `commands.py`), and with `--deep` the bandwidth measurements, in the rounds of
`round_robin.py`. The results are a `PairResults` (`pair_results.py`), with a `SkipReason` (`skip_reasons.py`)
for each host that could not be checked. `judge.py` turns them into reports with the judges of
`reachability.py` (SSH and ports) and `mtu_and_speed.py` (MTU, round trip, bandwidth). `save_speeds.py` stores
measured speeds for placement. All files are pure except `examine.py`, `probe_containers.py` and
`save_speeds.py`. A new check also needs its half in the image, images/doc-hvd/lib/inside/checks/."""
