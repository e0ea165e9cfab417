"""Trains on Fashion-MNIST with JAX: one process per rank, the batch is divided among all devices of all ranks.

    hvdocker train examples/jax/train.py -np 2 --launcher jax -- --epochs 2

`examples/torch/prepare.py` puts the data beside this file first. Without a launcher the script trains alone."""

import argparse
import gzip
import hashlib
import os
import socket
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
Weights = dict[str, jax.Array]


def main() -> None:
    args = arguments()
    join_ranks()
    mesh = Mesh(jax.devices(), ("batch",))
    divided, whole = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())
    images, labels = read(args.data_path, "train", args.samples)
    test_images, test_labels = read(args.data_path, "t10k", args.samples)

    # Every rank has the same weights: jit averages the gradients over the devices, because the batch is divided.
    weights = jax.device_put(first_weights(), whole)
    for epoch in range(args.epochs):
        losses = []
        for chosen in batches(len(labels), args.batch, epoch):
            batch = [jax.make_array_from_process_local_data(divided, part[chosen]) for part in (images, labels)]
            weights, loss = step(weights, *batch, args.rate)
            losses.append(loss)
        if jax.process_index() == 0:
            print(f"epoch {epoch + 1} loss {np.mean([float(loss) for loss in losses]):.4f}", flush=True)

    mine = {name: np.asarray(value) for name, value in weights.items()}
    rank, size = jax.process_index(), jax.process_count()
    print(f"rank {rank} of {size} on {socket.gethostname()}: weights {weights_hash(mine)}", flush=True)
    if rank == 0:
        np.savez(OUTPUT / "model.npz", **mine)
        accuracy = np.mean(np.argmax(logits(mine, test_images), 1) == test_labels)
        print(f"accuracy {accuracy:.4f}", flush=True)


def join_ranks() -> None:
    if "JAX_COORDINATOR_ADDRESS" in os.environ:
        jax.distributed.initialize()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="images per rank and step")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--samples", type=int, help="use only so many images of each part")
    return parser.parse_args()


def read(folder: Path, part: str, samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    # A header of 16 or 8 bytes, then one byte for each pixel or label.
    images = read_bytes(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28 * 28)
    labels = read_bytes(folder / f"{part}-labels-idx1-ubyte.gz", 8)
    return images[:samples].astype("float32") / 255, labels[:samples].astype("int32")


def read_bytes(path: Path, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def first_weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        "hidden": random.normal(0, 0.04, (28 * 28, 128)).astype("float32"),
        "hidden bias": np.zeros(128, "float32"),
        "output": random.normal(0, 0.1, (128, 10)).astype("float32"),
        "output bias": np.zeros(10, "float32"),
    }


def batches(count: int, size: int, epoch: int) -> list[np.ndarray]:
    """Return the image numbers of this rank's batches: all ranks shuffle alike, and each takes its part."""
    order = np.random.default_rng(epoch).permutation(count)
    whole = size * jax.process_count()
    mine = slice(jax.process_index() * size, (jax.process_index() + 1) * size)
    return [order[start : start + whole][mine] for start in range(0, count - whole + 1, whole)]


def logits(weights: Weights, images: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(images @ weights["hidden"] + weights["hidden bias"])
    return hidden @ weights["output"] + weights["output bias"]


def loss_of(weights: Weights, images: jax.Array, labels: jax.Array) -> jax.Array:
    likely = jax.nn.log_softmax(logits(weights, images))
    return -jnp.mean(jnp.take_along_axis(likely, labels[:, None], 1))


@jax.jit
def step(weights: Weights, images: jax.Array, labels: jax.Array, rate: float) -> tuple[Weights, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
    return jax.tree.map(lambda value, gradient: value - rate * gradient, weights, gradients), loss


def weights_hash(weights: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
