"""Rank 1 never calls the allreduce that all others wait in. With UNTRACEABLE set, the kernel forbids tracing
of the processes, as on a host where ptrace is forbidden."""

import ctypes
import os
import time

import horovod.tensorflow as hvd
import tensorflow as tf

PR_SET_DUMPABLE = 4

if os.environ.get("UNTRACEABLE"):
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
hvd.init()
print(f"rank {hvd.rank()} begins", flush=True)


def asleep() -> None:
    time.sleep(3600)


if hvd.rank() == 1:
    asleep()
hvd.allreduce(tf.constant(1.0), name="sum")
