"""Trains a small convolutional network on Fashion-MNIST with PyTorch's DistributedDataParallel, the usual way.

    hvdocker train examples/torch/train.py -np 2 -- --epochs 3
    torchrun --nproc-per-node 2 examples/torch/train.py --epochs 3
    python examples/torch/train.py --epochs 3

`prepare.py` puts the data beside this file first; the sync carries it to every host. Rank 0 writes a checkpoint after
every epoch. If the checkpoint exists at the start, training continues from it."""

import argparse
import hashlib
import json
import os
import socket
from pathlib import Path

import torch
import torch.distributed as dist
from fashion_mnist import dataset, network
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))
# What a launcher sets for every rank. A script that is started alone is rank 0 of 1.
ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def main() -> None:
    args = arguments()
    device = join_group()
    torch.manual_seed(1)
    train_set = dataset(args.data_path, "train", args.samples)
    test_set = dataset(args.data_path, "t10k", args.samples)

    model = network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), args.rate)
    first_epoch = resume(args.checkpoint_path, model, optimizer, device)
    parallel = DistributedDataParallel(model)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, args.batch, sampler=sampler)

    for epoch in range(first_epoch, args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(parallel, loader, optimizer, device)
        accuracy = evaluate(model, test_set, args.batch, device)
        if dist.get_rank() == 0:
            report(args.log_path, epoch=epoch + 1, loss=loss, accuracy=accuracy)
            save(args.checkpoint_path, model, optimizer, epoch + 1)

    print(f"rank {dist.get_rank()} of {dist.get_world_size()} on {socket.gethostname()}: weights {weights_hash(model)}")
    leave_group()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--checkpoint_path", type=Path, default=OUTPUT / "checkpoint.pt")
    parser.add_argument("--log_path", type=Path, default=OUTPUT, help="folder for metrics.jsonl, one line per epoch")
    parser.add_argument("--epochs", type=int, default=3, help="epochs in all, with those before the checkpoint")
    parser.add_argument("--batch", type=int, default=64, help="images per rank and step")
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--samples", type=int, help="use only so many images of each part")
    return parser.parse_args()


def join_group() -> torch.device:
    """Join the other ranks; return the device of this rank."""
    for name, value in ALONE.items():
        os.environ.setdefault(name, value)
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    return torch.device("cuda")


def leave_group() -> None:
    # Gloo's threads may still release the tensors of the last operation. Python must not end meanwhile: the process
    # would abort. After the barrier they are done.
    dist.barrier()
    dist.destroy_process_group()


def resume(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> int:
    """Load the checkpoint, if there is one; return the number of finished epochs.

    Only rank 0's host needs the file: rank 0 sends it to the others."""
    found = [torch.load(path, "cpu") if dist.get_rank() == 0 and path.exists() else None]
    dist.broadcast_object_list(found, device=device)
    if found[0] is None:
        return 0
    model.load_state_dict(found[0]["model"])
    optimizer.load_state_dict(found[0]["optimizer"])
    if dist.get_rank() == 0:
        print(f"continue after epoch {found[0]['epoch']} from {path}", flush=True)
    return int(found[0]["epoch"])


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer, device: torch.device) -> float:
    """Return the mean loss of the epoch, over all ranks."""
    model.train()
    total = torch.zeros((), device=device)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    return float(total) / len(loader) / dist.get_world_size()


@torch.no_grad()
def evaluate(model: nn.Module, test_set: Dataset, batch: int, device: torch.device) -> float:
    """Return the share of test images that the model recognises. Every rank takes a part of them."""
    model.eval()
    right_and_all = torch.zeros(2, device=device)
    sampler = DistributedSampler(test_set, shuffle=False)
    for images, labels in DataLoader(test_set, batch, sampler=sampler):
        right = model(images.to(device)).argmax(1) == labels.to(device)
        right_and_all += torch.tensor([right.sum(), len(labels)], device=device)
    dist.all_reduce(right_and_all)
    return float(right_and_all[0] / right_and_all[1])


def report(folder: Path, epoch: int, loss: float, accuracy: float) -> None:
    print(f"epoch {epoch} loss {loss:.4f} accuracy {accuracy:.4f}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "metrics.jsonl").open("a") as log:
        log.write(json.dumps({"epoch": epoch, "loss": loss, "accuracy": accuracy}) + "\n")


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    """Write the checkpoint as a whole or not at all: a job that is killed meanwhile leaves the previous one, and a host
    that loses its power too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def weights_hash(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
