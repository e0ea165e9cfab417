"""How the image is stacked: what changes often lies on top of what is large."""

import docker
import pytest


@pytest.mark.parametrize("image", ["doc-hvd:base", "doc-hvd:cpu"])
def test_a_change_of_our_programs_costs_little(image: str) -> None:
    newest_first = docker.APIClient().history(image)
    sizes = [layer["Size"] for layer in newest_first]
    large = next(number for number, size in enumerate(sizes) if size > 10 << 20)
    ours = [number for number, layer in enumerate(newest_first) if "/opt/hvdocker" in layer["CreatedBy"]]
    copies = [number for number in ours if sizes[number] > 0]
    assert copies and max(copies) < large
    assert sum(sizes[:large]) < 1 << 20
