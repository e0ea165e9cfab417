"""Runs the benchmarks and prints one table. `make bench ROWS=up,sync` selects benchmarks by key prefix, ROWS=quick
those that take the least time. KEEP=1 keeps the results in the repository: later runs print the
change against them."""

import os
import sys

from bench.benchmark import Benchmark, select_benchmarks
from bench.measure import Measured, evaluate_row, measure
from bench.rows import BENCHMARKS
from bench.show import RESULTS, keep, plot, read_kept, say, table, write_json
from bench.testbed import Testbed


def main() -> int:
    contests = select_benchmarks(BENCHMARKS, os.environ.get("ROWS", ""))
    measured: list[Measured] = []
    failed: list[str] = []
    with Testbed.open() as ground:
        for contest in contests:
            say(f"{contest.key}: {contest.looks[0]} to {contest.looks[-1]} rounds")
            try:
                measured += run(contest, ground)
            except Exception as error:
                # One benchmark that fails must not discard the results of the others: a full run takes an
                # hour.
                failed.append(f"{contest.key} could not be measured: {error}")
                say(failed[-1])
            write_json(measured, RESULTS / "bench.json")
        # The home folder of the programs ends with the testbed; matplotlib keeps a cache there.
        trouble = plot(RESULTS / "bench.json", RESULTS / "bench.png", ground.peers)
    print(table(measured, read_kept()))
    if os.environ.get("KEEP") == "1":
        keep(RESULTS / "bench.json")
    say(f"no plot: {trouble}" if trouble else f"JSON and plot are in {RESULTS}")
    for line in failed:
        print(line)
    return 1 if failed else 0


def run(contest: Benchmark, ground: Testbed) -> list[Measured]:
    with contest.setup(ground) as contestants:
        samples = measure(contest, contestants)
    found = [evaluate_row(contest, row, samples) for row in contest.rows]
    for one in found:
        say(f"  {one.row} / {one.against}: {one.ratio:.3g}, bar {one.bar}: {one.verdict} after {one.rounds} rounds")
    return found


if __name__ == "__main__":
    sys.exit(main())
