"""Judges: pure functions that turn facts into findings, one file per subject.

`host.py` calls the judges of one host, and doctor.py calls `interfaces.py`; `between_hosts.py` compares hosts with each
other; `finding.py` has short constructors for findings. A finding is BAD if it stops training and WARN if it only slows
training down or may break it. To add a check, add a function that returns a `Finding` to the file of its subject, call
it from `host.py`, and add its name to GROUPS in console/views/doctor.py.

Some checks were tested on fixtures only (tests/unit/fixtures/doctor), not on hardware: real GPUs, MIG, drivers against
CUDA, InfiniBand, SELinux, AppArmor and rootless engines."""
