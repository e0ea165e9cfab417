"""The benchmark: hvdocker against the commands that a user would type instead, as ratios measured in one
run.

`benchmark.py` defines rows and benchmarks, `measure.py` measures them, `show.py` prints the table and writes
JSON and a plot, `testbed.py` provides the lab hosts. Every module of `rows/` is a family of rows; the
docstring of each setup function says what both sides do. To add a row, add it to `BENCHMARKS` of a module in
`rows/`."""
