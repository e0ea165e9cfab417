from itertools import combinations

import pytest

from hvdocker.doctor.pairs.round_robin import rounds


@pytest.mark.parametrize("count", range(51))
def test_every_pair_meets_once_and_no_host_is_in_two_places(count: int) -> None:
    hosts = [f"h{number}" for number in range(count)]
    made = rounds(hosts)
    for round_ in made:
        busy = [host for pair in round_ for host in pair]
        assert len(busy) == len(set(busy))
    met = [frozenset(pair) for round_ in made for pair in round_]
    assert len(met) == len(set(met))
    assert set(met) == {frozenset(pair) for pair in combinations(hosts, 2)}
    # As few rounds as can be: one fewer than hosts, one more where one has to pause.
    assert len(made) == (count - 1 if count % 2 == 0 else count) if count > 1 else made in ([], [[]])
