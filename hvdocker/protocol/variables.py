"""Environment variables of ranks. Pure.

The variables in NUMBERS and MASTER are usual in distributed training. The others are hvdocker's own. Every launcher
sets all of them for its ranks, except those whose comment says otherwise."""

from __future__ import annotations

# Numbers of the rank, and where the process with rank 0 listens.
NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK")
MASTER = ("MASTER_ADDR", "MASTER_PORT")
# The same numbers again, in names that no framework changes.
OWN_NUMBERS = ("HVDOCKER_RANK", "HVDOCKER_SIZE", "HVDOCKER_LOCAL_RANK")
# By this, the verb `stop` recognizes the ranks of a job that lost its master.
JOB = "HVDOCKER_JOB"
# How often the job was restarted before.
RESTART = "HVDOCKER_RESTART"
# Seconds that a launcher leaves ranks between SIGTERM and SIGKILL. Not for the command.
GRACE_S = "HVDOCKER_GRACE_S"
# With 1, a Python process of a rank that fails ends without waiting for other ranks. Only some launchers set it.
FAIL_FAST = "HVDOCKER_FAIL_FAST"
# The socket to which the rank wrapper sends its output, if another program started it. Not for the command.
OUTPUT_SOCKET = "HVDOCKER_OUTPUT_SOCKET"
