"""Sums 20 MB over all ranks, five times; each rank prints how many bytes left each interface of its host.

It also saves a file beside itself, as most people's scripts do, and reads the data set if there is one."""

import json
import socket
from pathlib import Path

import horovod.tensorflow as hvd
import tensorflow as tf


def bytes_sent() -> dict[str, int]:
    rows = (line.partition(":") for line in Path("/proc/net/dev").read_text().splitlines()[2:])
    return {name.strip(): int(fields.split()[8]) for name, _, fields in rows}


hvd.init()
before = bytes_sent()
value = tf.fill([5_000_000], float(hvd.rank() + 1))
for step in range(5):
    total = hvd.allreduce(value, name=f"value-{step}", op=hvd.Sum)
sent = {name: count - before.get(name, 0) for name, count in bytes_sent().items()}

Path("checkpoints").mkdir(exist_ok=True)
Path(f"checkpoints/model-{hvd.rank()}.h5").write_text(f"weights of rank {hvd.rank()}")
data = Path("/dataset/train.csv")
own = socket.gethostname()
told = {"rank": hvd.rank(), "total": float(total[0]), "sent": sent, "host": own, "address": socket.gethostbyname(own)}
print("told", json.dumps({**told, "data": data.read_text() if data.exists() else None}))
