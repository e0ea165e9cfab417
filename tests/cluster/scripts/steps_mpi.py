"""The steps of steps.py, with MPI's allreduce."""

from collections.abc import Sequence

import numpy as np
import steps
from mpi4py import MPI

world = MPI.COMM_WORLD


class World:
    rank, size = world.Get_rank(), world.Get_size()

    def add(self, values: Sequence[float]) -> list[float]:
        sums = np.array(values)
        world.Allreduce(MPI.IN_PLACE, sums)
        return list(sums)


steps.run(World(), saves=World.rank == 0)
