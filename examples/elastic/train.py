"""Trains on MNIST digits with Horovod Elastic: hosts may die and come back while it runs.

    python examples/mnist/prepare.py examples/elastic
    hvdocker train examples/elastic/train.py -np 2 --min-np 1 -- --steps 600

Every `--commit` steps the model is kept in the memory of every rank. When a host dies, the others go on from
the last commit; a host that comes back is given the model by rank 0. `--restarts` needs something that
outlives the ranks: rank 0 writes a checkpoint every `--save` steps, where a job that is run again begins."""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
CHECKPOINT = OUTPUT / "checkpoint.npz"
RESTART = int(os.environ.get("HVDOCKER_RESTART", "0"))


def main() -> None:
    args = arguments()
    hvd.init()
    one_gpu_per_rank()
    tf.keras.utils.set_random_seed(1)
    digits = np.load(args.data)
    model = network()
    optimizer = tf.keras.optimizers.SGD(args.rate, momentum=0.9)
    optimizer.build(model.trainable_variables)
    state = hvd.elastic.TensorFlowKerasState(model, optimizer, step=load_checkpoint(model))
    run(state, digits, args)
    if hvd.rank() == 0:
        save_checkpoint(state)
        model.save(OUTPUT / "model.keras")
        print(f"accuracy {accuracy(model, digits):.4f} on {len(digits['test_labels'])} other digits")


@hvd.elastic.run
def run(state: Any, digits: Any, args: argparse.Namespace) -> None:
    """Called again whenever hosts joined or left; the state is that of the last commit."""
    print(f"from step {state.step} with {hvd.size()} ranks, as rank {hvd.rank()}", flush=True)
    train = step_function(state.model, state.optimizer)
    while state.step < args.steps:
        images, labels = batch(digits, state.step, args.batch)
        loss = train(images, labels)
        state.step += 1
        if args.pause:
            time.sleep(args.pause)
        if state.step % args.commit == 0:
            if hvd.rank() == 0:
                print(f"step {state.step}, loss {float(loss):.3f}, {hvd.size()} ranks", flush=True)
                if state.step % args.save == 0:
                    save_checkpoint(state)
            # Raises where hosts have come or gone: then everything begins again from here.
            state.commit()


def step_function(model: tf.keras.Model, optimizer: Any) -> Callable[..., tf.Tensor]:
    """Traced again after every change: the number of ranks is part of the graph."""
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy()

    @tf.function
    def train(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return train


def batch(digits: Any, step: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """By step and rank, so that it does not matter who was there before."""
    random = np.random.default_rng([step, hvd.rank()])
    chosen = random.integers(len(digits["train_labels"]), size=size)
    return digits["train_images"][chosen], digits["train_labels"][chosen]


def save_checkpoint(state: Any) -> None:
    """Whole or not at all."""
    fresh = CHECKPOINT.with_suffix(".part.npz")
    np.savez(fresh, *state.model.get_weights(), step=state.step)
    fresh.replace(CHECKPOINT)


def load_checkpoint(model: tf.keras.Model) -> int:
    """The step to begin with. Rank 0's is what counts: it gives its state to all others."""
    if not RESTART or not CHECKPOINT.exists():
        return 0
    with np.load(CHECKPOINT) as kept:
        model.set_weights([kept[f"arr_{number}"] for number in range(len(kept.files) - 1)])
        return int(kept["step"])


def accuracy(model: tf.keras.Model, digits: Any) -> float:
    found = np.argmax(model.predict(digits["test_images"], verbose=0), axis=1)
    return float(np.mean(found == digits["test_labels"]))


def network() -> tf.keras.Model:
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((28, 28, 1)),
            tf.keras.layers.Conv2D(8, 5, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )


def one_gpu_per_rank() -> None:
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=Path(__file__).with_name("digits.npz"))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--commit", type=int, default=10, help="steps between two commits")
    parser.add_argument("--save", type=int, default=50, help="steps between two checkpoints")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to sleep after every step")
    return parser.parse_args()


if __name__ == "__main__":
    main()
