"""The example for TensorFlow's own MultiWorkerMirroredStrategy on two real hosts."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.examples import (
    TENSORFLOW_IMAGE,
    accuracy,
    assert_two_hosts_have_one_model,
    example_cluster,
    fetch_outputs,
    run_in_image,
    train,
)
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster

pytestmark = pytest.mark.training

LOAD = "import tensorflow as tf; print(tf.keras.models.load_model('model.keras').count_params())"


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    with example_cluster(lab, desk, TENSORFLOW_IMAGE, "tensorflow") as found:
        yield found


def test_multi_worker_mirrored_strategy_trains_one_model_on_two_hosts(site: LabCluster) -> None:
    said = train(site, "tensorflow/train.py", "-np", "2", "--launcher", "tensorflow", epochs=2, samples=6000)
    assert_two_hosts_have_one_model(site, said)
    first, second = [float(loss) for loss in re.findall(r"- loss: ([\d.]+) -", said)]
    assert second < first
    assert accuracy(said) > 0.65
    assert run_in_image(TENSORFLOW_IMAGE, fetch_outputs(site), LOAD) == "106122\n"
