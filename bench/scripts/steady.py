"""Trains a small network on random images. Rank 0 prints `speed N`: samples per second of all ranks together
in the median step. Other work of a busy machine disturbs few steps, and the mean much more. The first steps, which
build graphs and buffers, are left out."""

import statistics
import time

import horovod.tensorflow as hvd
import tensorflow as tf

WARM, STEPS, BATCH = 20, 600, 64

hvd.init()
tf.keras.utils.set_random_seed(hvd.rank())
images = tf.random.normal((BATCH, 28, 28, 1))
labels = tf.random.uniform((BATCH,), 0, 10, tf.int32)
model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(16, 3, activation="relu", input_shape=(28, 28, 1)),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(10),
])  # fmt: skip
optimizer = tf.keras.optimizers.SGD(0.01)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step() -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(
        zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
    )
    return loss


for _ in range(WARM):
    step()
times = []
for _ in range(STEPS):
    started = time.perf_counter()
    step()
    times.append(time.perf_counter() - started)
if hvd.rank() == 0:
    print(f"speed {BATCH * hvd.size() / statistics.median(times):.1f}", flush=True)
