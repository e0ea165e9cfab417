"""Trains on Fashion-MNIST with Hugging Face Accelerate. Nothing in it is made for hvdocker.

    hvdocker train examples/accelerate/train.py -np 2 -- --epochs 2

`examples/torch/prepare.py` puts the data beside this file first."""

import argparse
import gzip
import hashlib
import os
import socket
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))


def main() -> None:
    args = arguments()
    # Without GPUs Accelerate joins the ranks only if it is told to use the CPU.
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    set_seed(1)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), args.rate)
    train_set = DataLoader(dataset(args.data_path, "train", args.samples), args.batch, shuffle=True)
    test_set = DataLoader(dataset(args.data_path, "t10k", args.samples), args.batch)
    model, optimizer, train_set, test_set = accelerator.prepare(model, optimizer, train_set, test_set)

    for epoch in range(args.epochs):
        loss = train_epoch(accelerator, model, optimizer, train_set)
        accuracy = evaluate(accelerator, model, test_set)
        accelerator.print(f"epoch {epoch + 1} loss {loss:.4f} accuracy {accuracy:.4f}", flush=True)

    trained = accelerator.unwrap_model(model)
    rank, size = accelerator.process_index, accelerator.num_processes
    print(f"rank {rank} of {size} on {socket.gethostname()}: weights {weights_hash(trained)}", flush=True)
    if accelerator.is_main_process:
        torch.save(trained.state_dict(), OUTPUT / "model.pt")
    accelerator.wait_for_everyone()
    accelerator.end_training()


def train_epoch(
    accelerator: Accelerator, model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader
) -> float:
    """Return the mean loss of the epoch, over all ranks."""
    model.train()
    losses = []
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        accelerator.backward(loss)
        optimizer.step()
        losses.append(loss.detach())
    return float(accelerator.reduce(torch.stack(losses).mean(), "mean"))


@torch.no_grad()
def evaluate(accelerator: Accelerator, model: nn.Module, loader: DataLoader) -> float:
    """Return the share of test images that the model recognises."""
    model.eval()
    right = []
    for images, labels in loader:
        found, wanted = accelerator.gather_for_metrics((model(images).argmax(1), labels))
        right.append(found == wanted)
    return float(torch.cat(right).float().mean())


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="images per rank and step")
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--samples", type=int, help="use only so many images of each part")
    return parser.parse_args()


def dataset(folder: Path, part: str, samples: int | None) -> TensorDataset:
    # A header of 16 or 8 bytes, then one byte for each pixel or label.
    images = read_bytes(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = read_bytes(folder / f"{part}-labels-idx1-ubyte.gz", 8)
    return TensorDataset(images[:samples].float() / 255, labels[:samples].long())


def read_bytes(path: Path, header: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(gzip.decompress(path.read_bytes())), dtype=torch.uint8, offset=header)


def weights_hash(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
