"""Trains a small Keras model with MultiWorkerMirroredStrategy; each rank prints a hash of its weights.

`--alone` leaves the strategy out: then the ranks start, and end, with different weights."""

import json
import os
import sys

import tensorflow as tf
from ranks import tell

cluster = json.loads(os.environ["TF_CONFIG"])
rank, size = cluster["task"]["index"], len(cluster["cluster"]["worker"])
is_alone = "--alone" in sys.argv
# The cluster is made from TF_CONFIG, before any other operation.
strategy = tf.distribute.get_strategy() if is_alone else tf.distribute.MultiWorkerMirroredStrategy()

tf.random.set_seed(rank)
samples = tf.random.normal((256, 4))
targets = samples @ tf.constant([[1.0], [-2.0], [3.0], [0.5]])
# Every rank has samples of its own.
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
batches = tf.data.Dataset.from_tensor_slices((samples, targets)).batch(64).with_options(options)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.02), loss="mse")
history = model.fit(batches, epochs=4, verbose=0)
losses = [float(loss) for loss in history.history["loss"]]
tell(rank, size if is_alone else strategy.num_replicas_in_sync, model.get_weights(), losses=losses)
