"""Trains a small convolutional network on MNIST digits with Horovod, the usual way.

    hvdocker train examples/mnist/train.py -np 2 -- --epochs 3

`prepare.py` writes digits.npz beside this file first; the sync carries it to every host."""

import argparse
import hashlib
import os
from pathlib import Path

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf


def main() -> None:
    args = arguments()
    hvd.init()
    tf.keras.utils.set_random_seed(1 + hvd.rank())
    one_gpu_per_rank()

    digits = np.load(args.data)
    # Every rank trains on its own part; the test digits are nobody's.
    images = digits["train_images"][hvd.rank() :: hvd.size()]
    labels = digits["train_labels"][hvd.rank() :: hvd.size()]

    model = network()
    # As many gradients are averaged as there are ranks, so the step may be as many times longer.
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(args.rate * hvd.size()))
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])

    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
    ]
    output = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
    if hvd.rank() == 0:
        callbacks.append(tf.keras.callbacks.ModelCheckpoint(str(output / "checkpoint-{epoch}.keras")))

    model.fit(images, labels, args.batch, args.epochs, verbose=2 if hvd.rank() == 0 else 0, callbacks=callbacks)

    print(f"address {os.environ.get('HVDOCKER_ADDRESS', 'here')} weights {weights_hash(model)}")
    if hvd.rank() == 0:
        _, accuracy = model.evaluate(digits["test_images"], digits["test_labels"], verbose=0)
        model.save(output / "model.keras")
        print(f"accuracy {accuracy:.4f} on {len(digits['test_labels'])} digits that no rank trained on")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=Path(__file__).with_name("digits.npz"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.001)
    return parser.parse_args()


def one_gpu_per_rank() -> None:
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def network() -> tf.keras.Model:
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((28, 28, 1)),
            tf.keras.layers.Conv2D(16, 3, activation="relu"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(32, 3, activation="relu"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )


def weights_hash(model: tf.keras.Model) -> str:
    digest = hashlib.sha256()
    for weights in model.get_weights():
        digest.update(weights.tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
