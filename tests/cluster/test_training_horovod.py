"""Two hosts train one model: real TensorFlow, with Horovod and with its own strategy, one set of weights."""

from typing import Any

import pytest

from tests.cluster.lab_cluster import LabCluster
from tests.cluster.rank_checks import assert_ranks
from tests.cluster.training import await_no_ranks, rank_reports

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def trained(training: LabCluster) -> list[dict[str, Any]]:
    return rank_reports(training.run("train", "code/weights.py", "-np", "2").out)


def test_ranks_on_two_addresses_end_with_one_set_of_weights(
    training: LabCluster, trained: list[dict[str, Any]]
) -> None:
    assert [(rank["rank"], rank["size"]) for rank in trained] == [(0, 2), (1, 2)]
    assert [rank["address"] for rank in trained] == [host.address for host in training.hosts]
    assert len({rank["weights"] for rank in trained}) == 1
    await_no_ranks(training)


def test_the_loss_falls(trained: list[dict[str, Any]]) -> None:
    for rank in trained:
        assert rank["losses"][-1] < rank["losses"][0] / 2


def test_the_metrics_are_averaged_over_the_ranks(trained: list[dict[str, Any]]) -> None:
    assert trained[0]["losses"] == pytest.approx(trained[1]["losses"])


def test_keras_is_the_one_that_horovod_speaks_on_every_rank(trained: list[dict[str, Any]]) -> None:
    assert all(rank["keras"].startswith("2.") for rank in trained)


def test_without_the_broadcast_the_weights_differ(training: LabCluster) -> None:
    ranks = rank_reports(training.run("train", "code/weights.py", "-np", "2", "--env", "BROADCAST=0").out)
    assert [rank["address"] for rank in ranks] == [host.address for host in training.hosts]
    assert len({rank["weights"] for rank in ranks}) == 2


def test_tuning_flags_are_passed_on(training: LabCluster) -> None:
    ranks = rank_reports(training.run("train", "code/report_environment.py", "--fusion-threshold-mb", "32").out)
    assert [rank["environment"]["HOROVOD_FUSION_THRESHOLD"] for rank in ranks] == [str(32 << 20)] * 2
    assert [rank["environment"]["TF_USE_LEGACY_KERAS"] for rank in ranks] == ["1", "1"]


@pytest.mark.parametrize(("flags", "hashes"), [((), 1), (("--alone",), 2)], ids=["together", "alone"])
def test_tensorflows_own_strategy_trains_one_model(training: LabCluster, flags: tuple[str, ...], hashes: int) -> None:
    words = ("train", "code/weights_tensorflow.py", "--launcher", "tensorflow", "--", *flags)
    ranks = rank_reports(training.run(*words).out)
    assert_ranks(ranks, training.hosts, hashes)
    assert all(rank["losses"][-1] < rank["losses"][0] for rank in ranks)
    await_no_ranks(training)
