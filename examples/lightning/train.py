"""Trains on Fashion-MNIST with Lightning. Nothing in it is made for hvdocker.

    hvdocker train examples/lightning/train.py -np 2 -- --epochs 2

`examples/torch/prepare.py` puts the data beside this file first."""

import argparse
import gzip
import hashlib
import os
import socket
from pathlib import Path

import lightning as L  # noqa: N812  # as in Lightning's own documentation
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

OUTPUT = Path(os.environ.get("HVDOCKER_OUTPUT_DIR", "."))


class Classifier(L.LightningModule):
    def __init__(self, rate: float = 0.001) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.model = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        images, labels = batch
        right = (self.model(images).argmax(1) == labels).float().mean()
        self.log("accuracy", right, sync_dist=True)

    def on_train_epoch_end(self) -> None:
        metrics = self.trainer.callback_metrics
        self.print(
            f"epoch {self.current_epoch + 1} loss {metrics['loss']:.4f} accuracy {metrics['accuracy']:.4f}", flush=True
        )

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), self.hparams.rate)


def main() -> None:
    args = arguments()
    L.seed_everything(1)
    train_set = DataLoader(dataset(args.data_path, "train", args.samples), args.batch, shuffle=True)
    test_set = DataLoader(dataset(args.data_path, "t10k", args.samples), args.batch)

    # The launcher says how many ranks there are, and how many of them run on this host.
    ranks, ranks_here = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    trainer = L.Trainer(
        strategy="ddp",
        num_nodes=ranks // ranks_here,
        devices=ranks_here,
        max_epochs=args.epochs,
        default_root_dir=OUTPUT,
        callbacks=[ModelCheckpoint(OUTPUT, "checkpoint", enable_version_counter=False)],
        logger=False,
        enable_progress_bar=False,
    )
    resumed = args.checkpoint_path if args.checkpoint_path and args.checkpoint_path.exists() else None
    model = Classifier(args.rate)
    trainer.fit(model, train_set, test_set, ckpt_path=resumed)
    rank, size = trainer.global_rank, trainer.world_size
    print(f"rank {rank} of {size} on {socket.gethostname()}: weights {weights_hash(model)}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--checkpoint_path", type=Path, help="checkpoint to continue from; every host needs it")
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
