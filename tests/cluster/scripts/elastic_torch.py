"""Trains a linear model with elastic PyTorch. It takes the flags of examples/elastic, and prints the same lines.

When hosts come or go, torchrun starts all ranks again. Every `--commit` steps each host saves the weights; the
ranks go on from the newest ones that any of them has."""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TARGET = torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
CHECKPOINT = Path(os.environ["HVDOCKER_OUTPUT_DIR"]) / "checkpoint.pt"


def main() -> None:
    args = arguments()
    dist.init_process_group("gloo")
    model = nn.Linear(4, 1)
    step = load_newest(model)
    print(f"from step {step} with {dist.get_world_size()} ranks, as rank {dist.get_rank()}", flush=True)
    train(DistributedDataParallel(model), step, args)
    if dist.get_rank() == 0:
        print(f"accuracy {accuracy(model):.4f} on 1000 other samples")
    dist.destroy_process_group()


def train(model: DistributedDataParallel, step: int, args: argparse.Namespace) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    while step < args.steps:
        samples = torch.randn(args.batch, 4)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(samples), samples @ TARGET)
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(args.pause)
        if step % args.commit == 0:
            save(model, step)
            if dist.get_rank() == 0:
                print(f"step {step}, loss {loss.item():.3f}, {dist.get_world_size()} ranks", flush=True)


def accuracy(model: nn.Module) -> float:
    samples = torch.randn(1000, 4)
    return float(((model(samples) - samples @ TARGET).abs() < 0.1).float().mean())


def save(model: DistributedDataParallel, step: int) -> None:
    """Whole or not at all; one rank of each host does."""
    if os.environ["LOCAL_RANK"] == "0":
        draft = CHECKPOINT.with_suffix(".part")
        torch.save({"step": step, "weights": model.module.state_dict()}, draft)
        draft.replace(CHECKPOINT)


def load_newest(model: nn.Module) -> int:
    """Take over the weights of the rank whose host saved last, and return their step."""
    kept = torch.load(CHECKPOINT) if CHECKPOINT.exists() else {"step": 0, "weights": model.state_dict()}
    model.load_state_dict(kept["weights"])
    steps = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(steps, torch.tensor([float(kept["step"])]))
    newest = max(range(len(steps)), key=lambda rank: steps[rank].item())
    for weight in model.parameters():
        dist.broadcast(weight.data, newest)
    return int(steps[newest].item())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("--steps", "--batch", "--commit"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--pause", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
