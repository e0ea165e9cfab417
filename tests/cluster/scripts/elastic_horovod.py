"""Repeats allreduce steps with Horovod Elastic until the file named by the first argument exists in /data.
Rank 0 saves the number of steps and of ranks; each start prints the step at which it begins.

`elastic_horovod.py GATE HOST`: on that host every rank fails in its first step."""

import json
import os
import sys
import time
from pathlib import Path

import horovod.tensorflow as hvd
import tensorflow as tf

gate = Path("/data") / sys.argv[1]
checkpoint = Path(os.environ["HVDOCKER_OUTPUT_DIR"]) / "checkpoint.json"


@hvd.elastic.run
def train(state: "hvd.elastic.ObjectState") -> None:
    print(f"begins at step {state.step} of {hvd.size()} ranks", flush=True)
    while not state.is_over:
        sums = hvd.allreduce(tf.constant([1.0, float(gate.exists())]), op=hvd.Sum).numpy()
        if os.environ["HVDOCKER_HOST"] in sys.argv[2:]:
            os._exit(3)
        state.step += 1
        state.is_over = bool(sums[1])
        if hvd.rank() == 0:
            draft = checkpoint.with_suffix(".part")
            draft.write_text(json.dumps({"step": state.step, "ranks": int(sums[0])}))
            draft.replace(checkpoint)
        time.sleep(0.1)
        state.commit()


hvd.init()
state = hvd.elastic.ObjectState(hvd.broadcast_object, hvd.rank, step=0, is_over=False)
train(state)
print(f"{gate.name} has come: step {state.step} of {hvd.size()} ranks", flush=True)
