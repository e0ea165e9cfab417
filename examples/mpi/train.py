"""Trains on Fashion-MNIST with NumPy and MPI: every rank computes gradients on its part of a batch, and Allreduce
averages them.

    hvdocker train examples/mpi/train.py -np 2 --launcher mpi -- --epochs 2

`examples/torch/prepare.py` puts the data beside this file first. Without a launcher the script trains alone."""

import argparse
import gzip
import hashlib
import os
import socket
from pathlib import Path

import numpy as np
from mpi4py import MPI

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
Weights = dict[str, np.ndarray]


def main() -> None:
    args = arguments()
    images, labels = read(args.data_path, "train", args.samples)
    test_images, test_labels = read(args.data_path, "t10k", args.samples)

    # Every rank begins with the same weights, and takes the same steps.
    weights = first_weights()
    for epoch in range(args.epochs):
        losses = []
        for chosen in batches(len(labels), args.batch, epoch):
            loss, gradients = loss_and_gradients(weights, images[chosen], labels[chosen])
            for name, gradient in gradients.items():
                WORLD.Allreduce(MPI.IN_PLACE, gradient)
                weights[name] -= args.rate * gradient / SIZE
            losses.append(loss)
        loss = WORLD.allreduce(float(np.mean(losses))) / SIZE
        if RANK == 0:
            print(f"epoch {epoch + 1} loss {loss:.4f}", flush=True)

    print(f"rank {RANK} of {SIZE} on {socket.gethostname()}: weights {weights_hash(weights)}", flush=True)
    if RANK == 0:
        np.savez(OUTPUT / "model.npz", **weights)
        accuracy = np.mean(forward(weights, test_images)[1].argmax(1) == test_labels)
        print(f"accuracy {accuracy:.4f}", flush=True)


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
    return images[:samples].astype("float32") / 255, labels[:samples].astype("int64")


def read_bytes(path: Path, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def first_weights() -> Weights:
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
    whole = size * SIZE
    mine = slice(RANK * size, (RANK + 1) * size)
    return [order[start : start + whole][mine] for start in range(0, count - whole + 1, whole)]


def forward(weights: Weights, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hidden layer and the probabilities of the ten classes."""
    hidden = np.maximum(images @ weights["hidden"] + weights["hidden bias"], 0)
    scores = hidden @ weights["output"] + weights["output bias"]
    likely = np.exp(scores - scores.max(1, keepdims=True))
    return hidden, likely / likely.sum(1, keepdims=True)


def loss_and_gradients(weights: Weights, images: np.ndarray, labels: np.ndarray) -> tuple[float, Weights]:
    hidden, likely = forward(weights, images)
    rows = np.arange(len(labels))
    loss = float(-np.log(likely[rows, labels] + 1e-9).mean())
    error = likely
    error[rows, labels] -= 1
    error /= len(labels)
    hidden_error = (error @ weights["output"].T) * (hidden > 0)
    return loss, {
        "hidden": images.T @ hidden_error,
        "hidden bias": hidden_error.sum(0),
        "output": hidden.T @ error,
        "output bias": error.sum(0),
    }


def weights_hash(weights: Weights) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
