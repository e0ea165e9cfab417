"""Python blocks of pages are Python, and files of other tools become the inventories that the pages show."""

import ast
from pathlib import Path

import pytest

from hvdocker.inventory.other_formats import other_format
from hvdocker.inventory.parse import parse
from tests.documentation import ROOT, fenced, pages

BLOCKS = [(page, text) for page in pages() for text in fenced(page, "python")]
COMING_FROM = ROOT / "docs" / "guides" / "coming-from.md"


@pytest.mark.parametrize(("page", "text"), BLOCKS, ids=[f"{page.name}-{at}" for at, (page, _) in enumerate(BLOCKS)])
def test_a_python_block_is_python(page: Path, text: str) -> None:
    ast.parse(text)


def test_there_are_whole_scripts() -> None:
    assert sum(text.startswith("import ") for _, text in BLOCKS) >= 3


def test_the_hostfile_becomes_the_inventory_of_the_page() -> None:
    hostfile, _ = fenced(COMING_FROM, "text")
    (inventory,) = fenced(COMING_FROM, "yaml")
    found = other_format(hostfile)
    assert found is not None
    written = "hosts:\n" + "".join(f"  - {entry}\n" for entry in found.entries)
    assert parse(written, "hostfile", "here").hosts == parse(inventory, "page", "here").hosts


def test_the_ansible_inventory_of_the_page_is_read() -> None:
    found = other_format(fenced(COMING_FROM, "text")[1])
    assert found is not None and found.name == "an Ansible inventory"
    hosts = parse("hosts:\n" + "".join(f"  - {entry}\n" for entry in found.entries), "page", "here").hosts
    assert [(host.name, host.host) for host in hosts] == [
        ("gpu-a", "10.0.0.11"),
        ("gpu02", "gpu02"),
        ("gpu03", "gpu03"),
    ]
