"""Trains a small network on random images with DDP. Rank 0 prints `speed N`: samples per second of all ranks together
in the median step. Other work of a busy machine disturbs few steps, and the mean much more. The first steps, which
make connections and buffers, are left out."""

import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARM, STEPS, BATCH = 20, 600, 64

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
images = torch.randn(BATCH, 1, 28, 28)
labels = torch.randint(0, 10, (BATCH,))
model = DistributedDataParallel(
    nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 13 * 13, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
loss_of = nn.CrossEntropyLoss()


def step() -> None:
    optimizer.zero_grad()
    loss_of(model(images), labels).backward()
    optimizer.step()


for _ in range(WARM):
    step()
times = []
for _ in range(STEPS):
    started = time.perf_counter()
    step()
    times.append(time.perf_counter() - started)
if dist.get_rank() == 0:
    print(f"speed {BATCH * dist.get_world_size() / statistics.median(times):.1f}", flush=True)
dist.destroy_process_group()
