"""The arithmetic of the rows about steady speed, on outputs of two jobs that trained in turn."""

import pytest

from bench.rows.train import median_speed, parse_blocks
from bench.testbed import BenchError


def test_blocks_are_found_behind_the_header_of_a_rank() -> None:
    assert parse_blocks("[0]<stdout>:block 3 0.250000\n0@h1 │ block 4 0.5\nblocks 7\n") == {3: 0.25, 4: 0.5}


def test_half_the_seconds_are_twice_the_speed_and_one_disturbed_block_does_not_count() -> None:
    assert median_speed({3: 1.0, 4: 1.0, 5: 9.0}, {3: 2.0, 4: 2.0, 5: 2.0}) == 2.0


@pytest.mark.parametrize(("mine", "other"), [({}, {}), ({3: 1.0}, {3: 1.0, 4: 1.0})])
def test_jobs_that_did_not_train_the_same_blocks_are_an_error(mine: dict[int, float], other: dict[int, float]) -> None:
    with pytest.raises(BenchError, match="same blocks"):
        median_speed(mine, other)
