"""Trains one small network with hyperparameters that `--trial` chooses, and writes the result as a JSON file.

    hvdocker train examples/sweep/train.py -np 6 --launcher each -- --trial {rank}

Every run is independent of the others. It needs only numpy. `examples/torch/prepare.py` puts the data beside this file
first."""

import argparse
import gzip
import itertools
import json
import os
import socket
import time
from pathlib import Path

import numpy as np

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
# Every combination is a trial: 0 is the first rate with the first width.
RATES = (0.01, 0.1, 0.3)
WIDTHS = (32, 128)
TRIALS = list(itertools.product(RATES, WIDTHS))


def main() -> None:
    args = arguments()
    rate, width = TRIALS[args.trial]
    images, labels = read(args.data_path, "train", args.samples)
    started = time.monotonic()
    weights, loss = train(images, labels, rate, width, args.epochs)
    test_images, test_labels = read(args.data_path, "t10k", args.samples)
    accuracy = float(np.mean(forward(weights, test_images)[1].argmax(1) == test_labels))
    result = {
        "trial": args.trial,
        "rate": rate,
        "width": width,
        "loss": loss,
        "accuracy": accuracy,
        "seconds": time.monotonic() - started,
        "host": os.environ.get("HVDOCKER_HOST", socket.gethostname()),
    }
    (OUTPUT / f"trial-{args.trial}.json").write_text(json.dumps(result) + "\n")
    print(f"trial {args.trial}: rate {rate} width {width} loss {loss:.4f} accuracy {accuracy:.4f}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trial", type=int, required=True, choices=range(len(TRIALS)))
    parser.add_argument("--data_path", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, help="use only so many images of each part")
    return parser.parse_args()


def read(folder: Path, part: str, samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    # A header of 16 or 8 bytes, then one byte for each pixel or label.
    images = read_bytes(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28 * 28)
    labels = read_bytes(folder / f"{part}-labels-idx1-ubyte.gz", 8)
    return images[:samples].astype("float32") / 255, labels[:samples].astype("int64")


def read_bytes(path: Path, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def train(
    images: np.ndarray, labels: np.ndarray, rate: float, width: int, epochs: int, batch: int = 64
) -> tuple[list[np.ndarray], float]:
    """Train a network with one hidden layer by gradient descent. Return its weights and the loss of the last epoch."""
    random = np.random.default_rng(1)
    weights = [
        random.normal(0, 0.04, (28 * 28, width)).astype("float32"),
        random.normal(0, 0.1, (width, 10)).astype("float32"),
    ]
    loss = 0.0
    for _ in range(epochs):
        order, losses = random.permutation(len(labels)), []
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            loss, gradients = loss_and_gradients(weights, images[chosen], labels[chosen])
            weights = [value - rate * gradient for value, gradient in zip(weights, gradients, strict=True)]
            losses.append(loss)
        loss = float(np.mean(losses))
    return weights, loss


def forward(weights: list[np.ndarray], images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hidden layer and the probabilities of the ten classes."""
    hidden = np.maximum(images @ weights[0], 0)
    scores = hidden @ weights[1]
    likely = np.exp(scores - scores.max(1, keepdims=True))
    return hidden, likely / likely.sum(1, keepdims=True)


def loss_and_gradients(
    weights: list[np.ndarray], images: np.ndarray, labels: np.ndarray
) -> tuple[float, list[np.ndarray]]:
    hidden, likely = forward(weights, images)
    rows = np.arange(len(labels))
    loss = float(-np.log(likely[rows, labels] + 1e-9).mean())
    error = likely
    error[rows, labels] -= 1
    error /= len(labels)
    hidden_error = (error @ weights[1].T) * (hidden > 0)
    return loss, [images.T @ hidden_error, hidden.T @ error]


if __name__ == "__main__":
    main()
