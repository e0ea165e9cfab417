"""What `init` writes is read by the parser, as it is and with every suggestion taken."""

import re

import pytest

from hvdocker.errors import InventoryError
from hvdocker.inventory.fields import TOP_FIELDS
from hvdocker.inventory.inventory import Host, Inventory, SshSettings
from hvdocker.inventory.parse import parse
from hvdocker.inventory.safe_text import yaml_scalar
from hvdocker.inventory.template import inventory_file

ODD = [
    "no",
    "12",
    "1e3",
    "::1",
    "null",
    "~",
    "10.0.0.11",
    "gpu-a",
    "kim@b",
    "[2001:db8::2]:2222",
    "0x10",
    "a.b_c",
]


def test_the_hosts_and_nothing_else() -> None:
    text = inventory_file("inventory.yaml", ["gpu-a", "kim@gpu-b"])
    assert parse(text, "inventory.yaml", "here") == Inventory(
        cluster="here", hosts=(Host("gpu-a", "gpu-a"), Host("gpu-b", "gpu-b", ssh=SshSettings(user="kim")))
    )


def test_odd_names_are_quoted() -> None:
    hosts = [host for host in ODD if host != "~"]
    found = parse(inventory_file("x", [yaml_scalar(host) for host in hosts]), "x", "here").hosts
    assert len(found) == len(hosts) and found[0].host == "no" and found[7 - 1].name == "gpu-a"


@pytest.mark.parametrize("host", ["~", "$(id)", "a b", "a\n- b", "-o", "'", "a: b", "*.lab", "\x1b"])
def test_hostile_names_stay_one_value_and_are_refused(host: str) -> None:
    with pytest.raises(InventoryError) as caught:
        parse(inventory_file("x", [yaml_scalar(host)]), "x", "here")
    assert len(caught.value.problems) == 1


def test_without_hosts_it_says_what_is_missing() -> None:
    text = inventory_file("x", [], ["gpu-a", "12"])
    assert "Fill in at least one" in text and "  #- gpu-a\n" in text and '  #- "12"\n' in text
    with pytest.raises(InventoryError, match="1 problem"):
        parse(text, "x", "here")
    assert parse(text.replace("#- gpu-a", "- gpu-a"), "x", "here").hosts


def test_every_key_is_explained_and_every_suggestion_works() -> None:
    text = inventory_file("x", ["gpu-a"])
    taken = re.sub(r"^( *)#(?=[a-z-]+:|- )", r"\1", text, flags=re.MULTILINE)
    for field in TOP_FIELDS:
        assert re.search(rf"^{field.name}:", taken, re.MULTILINE)
    whole = parse(re.sub(r"^local:.*\n", "", taken, flags=re.MULTILINE), "x", "here")
    assert whole.cluster == "lab" and whole.cpus == 16 and len(whole.hosts) == 2 and whole.hosts[1].slots == 4


def test_it_fits_a_terminal() -> None:
    assert max(map(len, inventory_file("inventory.yaml", ["a"]).splitlines())) <= 80
