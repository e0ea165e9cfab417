"""How the image is stacked: what changes often lies on top of what is large."""

import docker
import pytest

from tests.cluster.images import assert_programs_on_top


@pytest.mark.parametrize("image", ["doc-hvd:base", "doc-hvd:cpu"])
def test_a_change_of_our_programs_costs_little(image: str) -> None:
    assert_programs_on_top(docker.APIClient().history(image))
