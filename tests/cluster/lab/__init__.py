"""The lab: real hosts on one machine, each a container with its own sshd, Docker engine and address.

The cluster tests use it, and so do developers: `python -m tests.cluster.lab up -n 3`. spec.py describes a
host as a container, host.py controls one, lab.py creates, finds and removes them. state.py is the folder
`.lab/`.
"""

from tests.cluster.lab.host import LabHost
from tests.cluster.lab.lab import Lab
from tests.cluster.lab.wait import LabError

__all__ = ["Lab", "LabError", "LabHost"]
