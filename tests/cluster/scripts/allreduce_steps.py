"""Repeats real allreduce steps until the file named by the first argument exists in /data. After each step
rank 0 writes a checkpoint, from which the next start of the job continues.

`allreduce_steps.py GATE RANK FAULT`: after three steps that rank fails, if this is the job's first start.
FAULT is `exception`, `memory`, `hang`, `talk` (print without end and take no more part), or an exit code."""

import json
import os
import sys
import time
from pathlib import Path

import horovod.tensorflow as hvd
import tensorflow as tf

gate = Path("/data") / sys.argv[1]
culprit, fault = sys.argv[2:4] if len(sys.argv) > 2 else ("", "")
out = Path(os.environ["HVDOCKER_OUTPUT_DIR"])
checkpoint = out / "checkpoint.json"


def break_down() -> None:
    print(f"rank {hvd.rank()} breaks: {fault}", flush=True)
    if fault == "exception":
        raise RuntimeError("the data make no sense")
    if fault == "memory":
        hoard = []
        while True:
            hoard.append(b"x" * (1 << 26))
    if fault == "hang":
        time.sleep(3600)
    while fault == "talk":
        print("and on and on", flush=True)
        time.sleep(0.2)
    os._exit(int(fault))


def is_first_start() -> bool:
    return os.environ.get("HVDOCKER_RESTART", "0") == "0"


hvd.init()
(out / f"rank-{hvd.rank()}.txt").write_text(f"rank {hvd.rank()} was here\n")
first = json.loads(checkpoint.read_text())["step"] if checkpoint.exists() else 0
step = int(hvd.broadcast(tf.constant(first), 0))
print(f"begins at step {step} of {hvd.size()} ranks", flush=True)
is_over = False
while not is_over:
    if step >= 3 and culprit == str(hvd.rank()) and is_first_start():
        break_down()
    sums = hvd.allreduce(tf.constant([1.0, float(gate.exists())]), op=hvd.Sum).numpy()
    is_over = bool(sums[1])
    step += 1
    if hvd.rank() == 0:
        draft = out / "checkpoint.part"
        draft.write_text(json.dumps({"step": step, "ranks": int(sums[0])}))
        draft.replace(checkpoint)
        if step % 10 == 0:
            print(f"reached step {step}", flush=True)
    time.sleep(0.05)
print(f"{gate.name} has come: step {step} of {hvd.size()} ranks", flush=True)
