"""The benchmarks, one module per family of rows, in the order of the table."""

from bench.rows import connect, images, startup, sync, train, up

CONTESTS = (
    *startup.CONTESTS,
    *connect.CONTESTS,
    *up.CONTESTS,
    *sync.CONTESTS,
    *train.CONTESTS,
    *images.CONTESTS,
)
