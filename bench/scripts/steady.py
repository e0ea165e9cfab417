"""Trains a small network on random images with Horovod, in turn with another job (see turns.py)."""

import horovod.tensorflow as hvd
import tensorflow as tf
from turns import train_in_turn

BATCH = 64

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


train_in_turn(hvd.rank(), lambda: hvd.allreduce(tf.zeros(())), step)
