"""Trains a small network on random images with DDP, in turn with another job (see turns.py)."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from turns import train_in_turn

BATCH = 64

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


train_in_turn(dist.get_rank(), dist.barrier, step)
# Without it, PyTorch aborts now and then in a rank whose peer has left the group.
dist.barrier()
dist.destroy_process_group()
