"""Prints the given number of lines per second, until it is stopped. With 0 it prints nothing."""

import sys
import time

rate = int(sys.argv[1])
PAUSE_S = 0.02
due = time.monotonic()
number = 0
while True:
    time.sleep(PAUSE_S if rate else 1)
    while rate and (time.monotonic() - due) * rate > number:
        number += 1
        print(f"line {number} of a rank that prints as a training does, with a loss of 0.12345", flush=True)
