"""Trains a small model with DistributedDataParallel; each rank prints a hash of its weights.

`--alone` leaves out the exchange of gradients: then the ranks start, and end, with different weights.
`--fsdp` shards the model over the ranks (FSDP) instead."""

import os
import sys

import torch
import torch.distributed as dist
from ranks import tell
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
# Every rank has another seed: only the exchange can make the weights equal.
torch.manual_seed(0 if "--fsdp" in sys.argv else rank)
model: nn.Module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
whole = sum(weight.numel() for weight in model.parameters())
if "--fsdp" in sys.argv:
    fully_shard(model, mesh=dist.init_device_mesh("cpu", (size,)))
elif "--alone" not in sys.argv:
    model = DistributedDataParallel(model)

torch.manual_seed(rank)
samples = torch.randn(256, 4)
targets = samples @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
optimizer = torch.optim.SGD(model.parameters(), 0.05)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(samples), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())


def here(weight: torch.Tensor) -> torch.Tensor:
    return weight.to_local() if isinstance(weight, DTensor) else weight


def gathered(weight: torch.Tensor) -> torch.Tensor:
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


weights = [gathered(weight).detach().numpy() for weight in model.parameters()]
held = sum(here(weight).numel() for weight in model.parameters())
interface = os.environ.get("GLOO_SOCKET_IFNAME")
tell(rank, size, weights, losses=losses, whole=whole, held=held, interface=interface)
dist.destroy_process_group()
