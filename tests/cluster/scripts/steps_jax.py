"""The steps of steps.py, with JAX's collectives."""

from collections.abc import Sequence

import jax
import numpy as np
import steps
from jax.experimental.multihost_utils import process_allgather

jax.distributed.initialize()


class World:
    rank, size = jax.process_index(), jax.process_count()

    def add(self, values: Sequence[float]) -> list[float]:
        gathered = process_allgather(np.array(values, "float32"), tiled=False)
        return list(np.asarray(gathered).reshape(self.size, -1).sum(0))


steps.run(World(), saves=jax.process_index() == 0)
