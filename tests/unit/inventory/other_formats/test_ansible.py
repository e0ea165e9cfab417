"""Ansible's inventories become entries of an inventory: the values are those that ansible-inventory prints."""

import pytest

from hvdocker.inventory.other_formats import other_format

INI_GROUPS = """\
[site:children]
gpus
one
[gpus:children]
rack
[rack]
a
[one]
a
b ansible_port=3 ansible_user="mine"
[all:vars]
ansible_user=all
ansible_port=1
[site:vars]
ansible_user=site
[gpus:vars]
ansible_port=2
[one:vars]
ansible_user = one
[rack:vars]
ansible_user='rack'
"""
YAML_GROUPS = """\
all:
  vars: {ansible_user: all, ansible_port: 1}
  children:
    site:
      vars: {ansible_user: site}
      children: {gpus: , one: }
gpus:
  vars: {ansible_port: 2}
  children:
    rack:
      hosts: {a: }
      vars: {ansible_user: rack}
one:
  hosts: {a: , b: {ansible_port: 3, ansible_user: mine}}
  vars: {ansible_user: one}
"""


def entries(text: str) -> list[str]:
    found = other_format(text)
    assert found and found.name == "an Ansible inventory"
    return list(found.entries)


def notes(text: str) -> tuple[str, ...]:
    found = other_format(text)
    assert found
    return found.notes


@pytest.mark.parametrize("text", [INI_GROUPS, YAML_GROUPS, INI_GROUPS.replace("\n", "\r\n"), "\ufeff" + YAML_GROUPS])
def test_a_child_group_comes_before_its_parents_and_a_host_before_its_groups(text: str) -> None:
    assert entries(text) == [
        "{host: a, ssh: {user: rack, port: 2}}",
        "{host: b, ssh: {user: mine, port: 3}}",
    ]


def test_variables_of_all_reach_the_hosts_of_a_group_beside_it() -> None:
    assert entries("all:\n  vars: {ansible_user: u}\ngpus:\n  hosts: {a: }\n") == ["{host: a, ssh: {user: u}}"]


def test_a_number_sign_in_quotes_is_no_comment() -> None:
    host = "a ansible_ssh_private_key_file='~/my # key' slots=2 # rack 7\n"
    group = '[gpus:vars]\nansible_user="k#m"  # who\nansible_port=22 # ssh\n'
    assert entries(f"[gpus]\n{host}{group}") == ['{host: a, slots: 2, ssh: {user: "k#m", port: 22, key: "~/my # key"}}']


@pytest.mark.parametrize("variable", ["ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args"])
@pytest.mark.parametrize(
    ("arguments", "jump"),
    [
        ("-o ProxyJump=kim@bastion:2222", "kim@bastion:2222"),
        ("-oProxyJump=bastion", "bastion"),
        ("-C -J one,two", '"one,two"'),
        ('-o "ProxyJump bastion"', "bastion"),
        ('-o ProxyCommand="ssh -W %h:%p -q kim@bastion"', "kim@bastion"),
        ('-o ProxyCommand="ssh -q -p 2222 -l kim bastion -W %h:%p"', "kim@bastion:2222"),
    ],
)
def test_the_jump_host_of_the_arguments_of_ssh_is_kept(variable: str, arguments: str, jump: str) -> None:
    text = f"all:\n  hosts:\n    a:\n      {variable}: '{arguments}'\n"
    assert entries(text) == [f"{{host: a, ssh: {{jump: {jump}}}}}"]


def test_whatever_is_left_out_is_named() -> None:
    text = """\
[gpus]
a http_port=80 ansible_ssh_common_args='-o ProxyJump=b -o StrictHostKeyChecking=no -v' ansible_user='{{ me }}'
again ansible_host=a ansible_ssh_common_args='-J b'
none slots=0
[gpus:vars]
ansible_become=true
"""
    assert notes(text) == (
        "ansible_user of a is left out: only Ansible can fill in {{ me }}",
        "-o StrictHostKeyChecking=no of ansible_ssh_common_args is left out; ~/.ssh/config may say it",
        "-v of ansible_ssh_common_args is left out; ~/.ssh/config may say it",
        "none is left out: it has no slots",
        "variables are left out: ansible_become, http_port",
        "groups are left out, their hosts are not: gpus",
        "again is left out: it is the same host as a",
    )
    assert entries(text) == ["{host: a, ssh: {jump: b}}"]


def test_a_proxy_command_that_is_no_jump_is_named() -> None:
    found = notes("[gpus]\na ansible_ssh_common_args='-o ProxyCommand=\"nc %h %p\"'\n")
    assert found[0] == "-o ProxyCommand=nc %h %p of ansible_ssh_common_args is left out; ~/.ssh/config may say it"


def test_what_yaml_or_a_group_has_besides_is_named() -> None:
    text = "all:\n  hosts:\n    a: {ansible_user: !vault x}\ngpus:\n  host: {b: }\nmore: 3\n"
    assert notes(text) == (
        "not read: all/hosts/a/ansible_user (line 3): the tag !vault is not understood",
        "gpus: host is left out: a group has no such key",
        "the group more is left out: it is not a mapping",
    )


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("a:2222", ["{host: a, ssh: {port: 2222}}"]),
        ("gpu[01:03].lab:24", [f"{{host: gpu0{n}.lab, ssh: {{port: 24}}}}" for n in (1, 2, 3)]),
        ("gpu-[a:c]", ["gpu-a", "gpu-b", "gpu-c"]),
        ("gpu[1:9:4]", ["gpu1", "gpu5", "gpu9"]),
        ("r[1:2]-[01:02]", ["r1-01", "r1-02", "r2-01", "r2-02"]),
        ("[fd00::1]:22", ['{host: "fd00::1", ssh: {port: 22}}']),
    ],
)
def test_ports_and_ranges(host: str, wanted: list[str]) -> None:
    assert entries(f"[gpus]\n{host}\n") == wanted
    assert entries(f"all:\n  hosts:\n    '{host}':\n") == wanted
