"""Rank 1 never comes to the sum that all others wait for. With UNTRACEABLE the kernel lets nobody look into
the processes, as where tracing is forbidden altogether."""

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
