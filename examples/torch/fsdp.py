"""Trains the network of train.py with FSDP: every rank keeps a part of the weights, gradients and optimizer state.

    hvdocker train examples/torch/fsdp.py -np 2 -- --epochs 2

Runs on GPUs with NCCL and on CPUs with Gloo. Rank 0 writes the whole model at the end."""

import socket
from pathlib import Path

import torch
import torch.distributed as dist
from fashion_mnist import dataset, network
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler
from train import arguments, evaluate, join_group, leave_group, report, train_epoch


def main() -> None:
    args = arguments()
    device = join_group()
    torch.manual_seed(1)
    train_set = dataset(args.data_path, "train", args.samples)
    test_set = dataset(args.data_path, "t10k", args.samples)

    model = network().to(device)
    weights = sum(parameter.numel() for parameter in model.parameters())
    for layer in model:
        if any(True for _ in layer.parameters()):
            fully_shard(layer)
    fully_shard(model)
    kept = sum(parameter.to_local().numel() for parameter in model.parameters())
    print(f"rank {dist.get_rank()} on {socket.gethostname()} keeps {kept} of {weights} weights", flush=True)

    optimizer = torch.optim.Adam(model.parameters(), args.rate)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, args.batch, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, device)
        accuracy = evaluate(model, test_set, args.batch, device)
        if dist.get_rank() == 0:
            report(args.log_path, epoch=epoch + 1, loss=loss, accuracy=accuracy)

    save_whole(args.checkpoint_path, model)
    leave_group()


def save_whole(path: Path, model: nn.Module) -> None:
    """Collect the parts of all ranks; rank 0 writes them as one model."""
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"model": whole}, path)


if __name__ == "__main__":
    main()
