"""The benchmarks, one module per family of rows, in the order of the table."""

from bench.rows import connect, images, overhead, startup, sync, train, up

BENCHMARKS = (
    *startup.BENCHMARKS,
    *connect.BENCHMARKS,
    *up.BENCHMARKS,
    *sync.BENCHMARKS,
    *train.BENCHMARKS,
    *overhead.BENCHMARKS,
    *images.BENCHMARKS,
)
