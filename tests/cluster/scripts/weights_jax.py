"""Trains a linear model with JAX, its samples sharded over all processes; each prints a hash of its weights.

`--alone` shards them over the devices of one process: then the ranks end with different weights."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from ranks import tell

jax.distributed.initialize()  # finds the coordinator and its own number in the environment
rank, size = jax.process_index(), jax.process_count()
devices = jax.local_devices() if "--alone" in sys.argv else jax.devices()
mesh = Mesh(np.array(devices), ("data",))
everywhere = NamedSharding(mesh, PartitionSpec())

random = np.random.default_rng(rank)
samples = random.normal(size=(256, 4)).astype("float32")
targets = samples @ np.array([1.0, -2.0, 3.0, 0.5], "float32")
by_rank = NamedSharding(mesh, PartitionSpec("data"))
x, y = (jax.make_array_from_process_local_data(by_rank, value) for value in (samples, targets))


@jax.jit
def step(weights: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    loss, gradient = jax.value_and_grad(lambda weights: jnp.mean((x @ weights - y) ** 2))(weights)
    return weights - 0.1 * gradient, loss


weights = jax.device_put(np.zeros(4, "float32"), everywhere)
losses = []
for _ in range(20):
    weights, loss = step(weights, x, y)
    losses.append(float(loss))
tell(rank, size, [np.asarray(weights.addressable_data(0))], losses=losses)
