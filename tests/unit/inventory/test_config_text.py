import json
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.inventory.config_text import ConfigView, config_json, config_yaml
from hvdocker.inventory.inventory import Host, Inventory, SshSettings
from hvdocker.inventory.origin import EffectiveSsh, Setting, find_origins
from hvdocker.inventory.parse import parse

RIGHT = sorted((Path(__file__).parents[1] / "fixtures" / "inventories" / "right").glob("*.yaml"))


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_it_reads_back_as_the_same_inventory(path: Path) -> None:
    inventory = parse(path.read_text(encoding="utf-8"), path.name, "here")
    for view in (ConfigView(inventory), ConfigView(inventory, "/x\n/y.yaml", "why\x1b")):
        assert parse(config_yaml(view), "config", "other") == inventory
        assert json.dumps(config_json(view))


def test_what_ssh_adds_reads_back_too() -> None:
    host = Host("a", "a", ssh=SshSettings(key="/k"))
    reach = EffectiveSsh(
        user=Setting("kim", "~/.ssh/config"),
        port=Setting(2222, "~/.ssh/config"),
        key=Setting("/k", "ssh/key (line 1)"),
        jump=Setting("ssh://no inventory can say this", "~/.ssh/config"),
        handshake_timeout=Setting(60, "line 2"),
        address=Setting("10.0.0.1", "~/.ssh/config"),
    )
    text = config_yaml(ConfigView(Inventory("lab", (host,)), "/x", "why", effective_ssh=(reach,)))
    [read] = parse(text, "config", "other").hosts
    assert read == replace(host, ssh=SshSettings("kim", 2222, "/k", handshake_timeout=60))
    assert "      user: kim  # ~/.ssh/config\n" in text
    assert "      # jump: ssh://no inventory can say this  # ~/.ssh/config\n" in text


def test_every_setting_that_is_not_set_says_what_holds() -> None:
    text = config_yaml(ConfigView(parse("hosts: [a]", "x", "here"), "/x", "why"))
    assert "# shm: half of RAM, at most 16 GB\n" in text
    assert "# image: doc-hvd:gpu where hosts have GPUs, else doc-hvd:cpu\n" in text
    assert "user: host  # default\n" in text


def test_where_settings_stand() -> None:
    text = "image: x\nssh: {user: u, port: 1}\nhosts:\n  - a\n  - kim@b\n"
    text += "  - host: '[::1]:22'\n    ssh:\n      key: k\nshm:\n"
    found = find_origins(text)
    assert found.top == {"image": "line 1", "ssh": "line 2", "hosts": "line 3"}
    assert found.ssh[0] == {"user": "ssh/user (line 2)", "port": "ssh/port (line 2)"}
    assert found.ssh[1] == {"user": "hosts/1 (line 5)", "port": "ssh/port (line 2)"}
    assert found.ssh[2] == {
        "user": "ssh/user (line 2)",
        "port": "hosts/2 (line 6)",
        "key": "hosts/2/ssh/key (line 8)",
    }
