"""Trains a linear model with nothing but Python's standard library; each rank prints a hash of its weights.

The ranks average their gradients over TCP: rank 0 listens at MASTER_ADDR:MASTER_PORT, and the others connect to it.
`--alone` leaves out the exchange: then the ranks start, and end, with different weights."""

import os
import random
import socket
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from typing import BinaryIO

from ranks import tell

DEADLINE_S = 60.0
TRUE_WEIGHTS = (1.0, -2.0, 3.0, 0.5)
Average = Callable[[Sequence[float]], list[float]]


def main() -> None:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    average: Average = list if "--alone" in sys.argv else averager(rank, size)
    # Every rank has another seed: only the exchange can make the weights equal.
    numbers = random.Random(rank)
    samples = [[numbers.gauss(0, 1) for _ in TRUE_WEIGHTS] for _ in range(256)]
    targets = [product(sample, TRUE_WEIGHTS) for sample in samples]
    weights = average([numbers.gauss(0, 1) for _ in TRUE_WEIGHTS])
    losses = []
    for _ in range(20):
        errors = [product(sample, weights) - target for sample, target in zip(samples, targets, strict=True)]
        losses.append(product(errors, errors) / len(errors))
        gradient = average([2 * product(errors, column) / len(errors) for column in zip(*samples, strict=True)])
        weights = [weight - 0.1 * slope for weight, slope in zip(weights, gradient, strict=True)]
    tell(rank, size, [array("d", weights)], losses=losses)


def product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def averager(rank: int, size: int) -> Average:
    """Connect the ranks, and return the function with which each of them averages numbers over all."""
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank > 0:
        link = connect(address)
        return lambda values: ask(link, values)
    with socket.create_server(address) as server:
        server.settimeout(DEADLINE_S)
        links = [opened(server.accept()[0]) for _ in range(size - 1)]
    return lambda values: serve(links, values)


def connect(address: tuple[str, int]) -> BinaryIO:
    """Connect to rank 0, which may start later than this rank."""
    end = time.monotonic() + DEADLINE_S
    while True:
        try:
            return opened(socket.create_connection(address, timeout=DEADLINE_S))
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def opened(connection: socket.socket) -> BinaryIO:
    connection.settimeout(DEADLINE_S)
    return connection.makefile("rwb")


def ask(link: BinaryIO, values: Sequence[float]) -> list[float]:
    """Send the numbers of this rank to rank 0, and return the averages."""
    send(link, values)
    return receive(link, len(values))


def serve(links: Sequence[BinaryIO], values: Sequence[float]) -> list[float]:
    """Average the numbers of rank 0 and those that the other ranks send, and send the averages to all."""
    rows = [list(values), *(receive(link, len(values)) for link in links)]
    averages = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    for link in links:
        send(link, averages)
    return averages


def send(link: BinaryIO, values: Sequence[float]) -> None:
    link.write(array("d", values).tobytes())
    link.flush()


def receive(link: BinaryIO, count: int) -> list[float]:
    """Return `count` numbers. Raises EOFError if the connection is closed before they have come."""
    found = array("d")
    found.fromfile(link, count)
    return found.tolist()


if __name__ == "__main__":
    main()
