"""Lists of hosts of other tools become entries of an inventory."""

import pytest

from hvdocker.inventory.other_formats import other_format
from hvdocker.inventory.parse import parse
from hvdocker.inventory.template import inventory_file

INI = """\
; the lab
bastion ansible_host=10.0.0.1

[gpus]
gpu-a ansible_host=10.0.0.11 ansible_user=kim   # rack 7
gpu[01:03].lab slots=4

[gpus:vars]
ansible_port=2222
ansible_ssh_private_key_file='~/.ssh/lab key'

[all:vars]
ansible_user=ubuntu

[site:children]
gpus
"""
YAML = """\
all:
  vars: {ansible_user: ubuntu}
  hosts:
    bastion: {ansible_host: 10.0.0.1}
  children:
    gpus:
      hosts:
        gpu-a: {ansible_host: 10.0.0.11, ansible_port: 2222, ansible_user: kim}
        gpu-b:
"""


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("gpu-a slots=4\ngpu-b  slots = 2 max_slots=8\n", ["{host: gpu-a, slots: 4}", "{host: gpu-b, slots: 2}"]),
        ("# mpi\n\ngpu-a:4 # rack 7\nkim@gpu-b\n", ["{host: gpu-a, slots: 4}", "kim@gpu-b"]),
        ("gpu-a slots=1\ngpu-a slots=2\n", ["{host: gpu-a, slots: 3}"]),
        ("10.0.0.1\n", ["10.0.0.1"]),
    ],
)
def test_a_hostfile(text: str, entries: list[str]) -> None:
    found = other_format(text)
    assert found and (found.name, list(found.entries)) == ("a hostfile", entries)


def test_an_ansible_inventory_in_ini_with_groups_ranges_and_variables() -> None:
    found = other_format(INI)
    assert found and found.name == "an Ansible inventory"
    ssh = 'user: ubuntu, port: 2222, key: "~/.ssh/lab key"'
    assert list(found.entries) == [
        "{host: 10.0.0.1, name: bastion, ssh: {user: ubuntu}}",
        '{host: 10.0.0.11, name: gpu-a, ssh: {user: kim, port: 2222, key: "~/.ssh/lab key"}}',
        *(f"{{host: gpu0{number}.lab, slots: 4, ssh: {{{ssh}}}}}" for number in (1, 2, 3)),
    ]


def test_an_ansible_inventory_in_yaml() -> None:
    found = other_format(YAML)
    assert found and list(found.entries) == [
        "{host: 10.0.0.11, name: gpu-a, ssh: {user: kim, port: 2222}}",
        "{host: gpu-b, ssh: {user: ubuntu}}",
        "{host: 10.0.0.1, name: bastion, ssh: {user: ubuntu}}",
    ]


@pytest.mark.parametrize("text", [INI, YAML, "a slots=4\n"])
def test_what_is_written_from_it_is_an_inventory(text: str) -> None:
    found = other_format(text)
    assert found
    assert len(parse(inventory_file("x", found.entries), "x", "here").hosts) == len(found.entries)


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "hosts: [a]\n", "hosts:\n- a\n", "hosts:\n  - {host: a}\n", "local: 2\n",
     "import os\nprint(1)\n", "[a, b]\n", "hosts: {a: 1}\n", "a: {b: 1}\n", "\x00", "- a\n- b\n",
     "ssh:\n  user: x\nhosts:\n  - a\n"],
)  # fmt: skip
def test_everything_else_is_not_taken_for_one(text: str) -> None:
    assert other_format(text) is None


def test_a_range_without_end_stays_small() -> None:
    found = other_format("[gpus]\ngpu[000000:999999]\n")
    assert found and len(found.entries) == 10_000


def test_variables_of_a_group_around_another_apply_where_nothing_nearer_does() -> None:
    text = "[site:vars]\nansible_user=far\nansible_port=22\n[site:children]\ngpus\nsite\n[gpus]\na\nb\n[zone]\nb\n"
    found = other_format(f"{text}[zone:vars]\nansible_user=near\n[all:vars]\nansible_port=7\n")
    assert found
    assert found.entries == ("{host: a, ssh: {user: far, port: 22}}", "{host: b, ssh: {user: near, port: 22}}")


def test_many_ranges_without_end_stay_small() -> None:
    found = other_format("[gpus]\n" + "\n".join(f"gpu{number}-[0:999999]" for number in range(2000)))
    assert found and len(found.entries) == 10_000


def test_hostile_variables_stay_one_value() -> None:
    found = other_format("[gpus]\na ansible_user='x}, slots: {'\n")
    assert found and found.entries == ('{host: a, ssh: {user: "x}, slots: {"}}',)


@pytest.mark.parametrize(
    "line",
    [
        "a[" + "1:2," * 5_000,
        "a" + " " * 200_000 + "b",
        "[g:vars]\na=1" + " " * 200_000 + "2",
        "[g:children]\na" + " " * 200_000 + "b",
    ],
    ids=["range", "hostfile", "variable", "group"],
)
def test_a_long_line_is_read_in_linear_time(line: str) -> None:
    """With time that grows faster than the line, this test would not end."""
    assert other_format(line) is None
