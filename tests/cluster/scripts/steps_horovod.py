"""The steps of steps.py, with Horovod's allreduce."""

from collections.abc import Sequence

import horovod.tensorflow as hvd
import steps
import tensorflow as tf

hvd.init()


class World:
    rank, size = hvd.rank(), hvd.size()

    def add(self, values: Sequence[float]) -> list[float]:
        return list(hvd.allreduce(tf.constant(values), op=hvd.Sum).numpy())


steps.run(World(), saves=hvd.rank() == 0)
