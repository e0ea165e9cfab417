"""Trains on Fashion-MNIST with TensorFlow's own MultiWorkerMirroredStrategy and Keras.

    hvdocker train examples/tensorflow/train.py -np 2 --launcher tensorflow -- --epochs 2

`examples/torch/prepare.py` puts the data beside this file first. The launcher sets TF_CONFIG, which the strategy reads;
without TF_CONFIG the script trains alone."""

import argparse
import gzip
import hashlib
import json
import os
import socket
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))


def main() -> None:
    args = arguments()
    # The strategy comes first: it opens this rank's server before any other operation of TensorFlow.
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = int(json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0))
    tf.keras.utils.set_random_seed(1)

    # One batch is shared by all ranks: every rank takes its part of it.
    batch = args.batch * strategy.num_replicas_in_sync
    images, labels = read(args.data_path, "train", args.samples)
    train_set = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(labels), seed=1).batch(batch)
    test_set = tf.data.Dataset.from_tensor_slices(read(args.data_path, "t10k", args.samples)).batch(batch)

    with strategy.scope():
        model = network()
        model.compile(
            tf.keras.optimizers.Adam(args.rate),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    model.fit(train_set, epochs=args.epochs, verbose=2 if rank == 0 else 0)

    # All ranks take part in the evaluation and in saving; only what rank 0 saves is kept.
    _, accuracy = model.evaluate(test_set, verbose=0)
    print(f"rank {rank} on {socket.gethostname()}: weights {weights_hash(model)}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        model.save((OUTPUT if rank == 0 else Path(scratch)) / "model.keras")
    if rank == 0:
        print(f"accuracy {accuracy:.4f}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="images per rank and step")
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--samples", type=int, help="use only so many images of each part")
    return parser.parse_args()


def read(folder: Path, part: str, samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    # A header of 16 or 8 bytes, then one byte for each pixel or label.
    images = read_bytes(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
    labels = read_bytes(folder / f"{part}-labels-idx1-ubyte.gz", 8)
    return images[:samples].astype("float32") / 255, labels[:samples].astype("int64")


def read_bytes(path: Path, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def network() -> tf.keras.Model:
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((28, 28, 1)),
            tf.keras.layers.Conv2D(16, 5, strides=2, padding="same", activation="relu"),
            tf.keras.layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )


def weights_hash(model: tf.keras.Model) -> str:
    digest = hashlib.sha256()
    for weights in model.get_weights():
        digest.update(weights.tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
