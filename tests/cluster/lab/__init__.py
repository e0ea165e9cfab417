"""The lab: real hosts on one machine, each a container with its own sshd, Docker engine and address.

It serves the cluster tests and is the developers' tool: `python -m tests.cluster.lab up -n 3`.
"""

from tests.cluster.lab.host import LabHost
from tests.cluster.lab.lab import Lab
from tests.cluster.lab.wait import LabError

__all__ = ["Lab", "LabError", "LabHost"]
