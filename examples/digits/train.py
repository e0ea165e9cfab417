"""Learns to read noisy digits with JAX. Every rank has the same network and its own part of each batch.

    hvdocker train examples/digits/train.py -np 2 --launcher jax -- --epochs 8

`hvdocker demo` runs it. digits.txt beside it has one drawing of each digit. The images are made from these drawings:
moved, faded and covered with noise. So nothing has to be downloaded. Without a launcher the script trains alone."""

import argparse
import hashlib
import json
import os
import socket
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
DRAWINGS = Path(__file__).with_name("digits.txt")
SIZE = 8
TRAIN, TEST = 8000, 1000
Weights = dict[str, jax.Array]


def main() -> None:
    args = arguments()
    join_ranks()
    rank, ranks = jax.process_index(), jax.process_count()
    images, labels = make_images(TRAIN, seed=1)
    test_images, test_labels = make_images(TEST, seed=2)

    # Every rank has the same weights: jit averages the gradients over the ranks, because the batch is divided.
    mesh = Mesh(jax.devices(), ("batch",))
    divided, whole = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())
    weights = jax.device_put(first_weights(), whole)
    for epoch in range(args.epochs):
        for chosen in batches(args.batch, epoch):
            batch = [jax.make_array_from_process_local_data(divided, part[chosen]) for part in (images, labels)]
            weights = step(weights, *batch, args.rate)
        mine = {name: np.asarray(value) for name, value in weights.items()}
        accuracy = float(np.mean(np.argmax(logits(mine, test_images), 1) == test_labels))
        if rank == 0:
            print(f"epoch {epoch + 1}: accuracy {accuracy:.3f} on {TEST} images that no rank trained on", flush=True)

    print(f"rank {rank} of {ranks} on {socket.gethostname()}: weights {weights_hash(mine)}", flush=True)
    if rank == 0:
        np.savez(OUTPUT / "model.npz", **mine)
        (OUTPUT / "result.json").write_text(json.dumps({"accuracy": accuracy, "images": TEST, "ranks": ranks}) + "\n")


def join_ranks() -> None:
    if "JAX_COORDINATOR_ADDRESS" in os.environ:
        jax.distributed.initialize()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step")
    parser.add_argument("--rate", type=float, default=0.6)
    return parser.parse_args()


def make_images(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` images of digits and their labels. The same seed gives the same images on every rank."""
    random = np.random.default_rng(seed)
    drawings = read_drawings()
    labels = random.integers(0, len(drawings), count)
    images = random.normal(0, 0.25, (count, SIZE, SIZE))
    rows, columns = drawings[0].shape
    for image, label in zip(images, labels, strict=True):
        row, column = random.integers(0, SIZE - rows + 1), random.integers(0, SIZE - columns + 1)
        image[row : row + rows, column : column + columns] += random.uniform(0.6, 1) * drawings[label]
    return images.reshape(count, -1).astype("float32"), labels.astype("int32")


def read_drawings() -> list[np.ndarray]:
    """Return the drawings of digits.txt as matrices of zeros and ones. The digits stand side by side there."""
    lines = [line.split() for line in DRAWINGS.read_text(encoding="utf-8").splitlines()]
    return [np.array([[pixel == "#" for pixel in row] for row in rows], float) for rows in zip(*lines, strict=True)]


def first_weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        "hidden": random.normal(0, 0.1, (SIZE * SIZE, 96)).astype("float32"),
        "hidden bias": np.zeros(96, "float32"),
        "output": random.normal(0, 0.1, (96, 10)).astype("float32"),
        "output bias": np.zeros(10, "float32"),
    }


def batches(size: int, epoch: int) -> list[np.ndarray]:
    """Return the image numbers of this rank's batches: all ranks shuffle alike, and each takes its part."""
    order = np.random.default_rng(epoch).permutation(TRAIN)
    whole = size * jax.process_count()
    mine = slice(jax.process_index() * size, (jax.process_index() + 1) * size)
    return [order[start : start + whole][mine] for start in range(0, TRAIN - whole + 1, whole)]


def logits(weights: Weights, images: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(images @ weights["hidden"] + weights["hidden bias"])
    return hidden @ weights["output"] + weights["output bias"]


def loss_of(weights: Weights, images: jax.Array, labels: jax.Array) -> jax.Array:
    likely = jax.nn.log_softmax(logits(weights, images))
    return -jnp.mean(jnp.take_along_axis(likely, labels[:, None], 1))


@jax.jit
def step(weights: Weights, images: jax.Array, labels: jax.Array, rate: float) -> Weights:
    gradients = jax.grad(loss_of)(weights, images, labels)
    return jax.tree.map(lambda value, gradient: value - rate * gradient, weights, gradients)


def weights_hash(weights: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
