"""Fashion-MNIST as tensors, and a small network for it: used by train.py and fsdp.py."""

import gzip
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset


def dataset(folder: Path, part: str, samples: int | None = None) -> TensorDataset:
    """Return the images and labels of a part ("train" or "t10k"); only the first `samples` of them if it is given."""
    # A header of 16 or 8 bytes, then one byte for each pixel or label.
    images = read_bytes(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = read_bytes(folder / f"{part}-labels-idx1-ubyte.gz", 8)
    return TensorDataset(images[:samples].float() / 255, labels[:samples].long())


def read_bytes(path: Path, header: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(gzip.decompress(path.read_bytes())), dtype=torch.uint8, offset=header)


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
