"""What a master's files tell of hosts that do not answer."""

import pytest

from hvdocker import assets
from hvdocker.cluster.containers.files import trust_files
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.unreachable_host import UnreachableHost, read_slots, read_unreachable
from hvdocker.protocol.hosts_file import hosts_text
from hvdocker.protocol.job_file import JobHost

MEMBERS = (
    ClusterMember("a", "10.0.0.11", "hvd"),
    ClusterMember("gpu-2.lab", "fd00::2", "root"),
    ClusterMember("c", "c.example", "hvd"),
)
KEYS = {member.name: f"ssh-ed25519 AAAA{number}+/=" for number, member in enumerate(MEMBERS)}


def absent(port: int, slots: dict[str, int]) -> list[UnreachableHost]:
    files = trust_files(assets.ssh_config_template(), "lab", MEMBERS, port, KEYS, "ssh-ed25519 CLIENT")
    texts = {file.path: file.content or "" for file in files}
    return list(read_unreachable("train-abcd", texts["ssh/config"], texts["ssh/known_hosts"], slots))


@pytest.mark.parametrize("port", [22, 12345])
def test_what_was_written_is_read_again(port: int) -> None:
    assert absent(port, {"gpu-2.lab": 2, "c": 1, "stranger": 1}) == [
        UnreachableHost(MEMBERS[1], KEYS["gpu-2.lab"], {"train-abcd": 2}),
        UnreachableHost(MEMBERS[2], KEYS["c"], {"train-abcd": 1}),
    ]


@pytest.mark.parametrize(
    ("config", "known"),
    [
        ('Host b x",command="id\n    HostName x",command="id\n    User hvd\n', "b ssh-ed25519 AAAA\n"),
        ("Host b 10.0.0.12\n    HostName 10.0.0.12\n    User eve\n", "10.0.0.12 ssh-ed25519 AAAA\n"),
        ("Host b 10.0.0.12\n    HostName 10.0.0.12\n    User hvd\n", "10.0.0.12 ssh-rsa AAAA\n"),
        ("", ""),
    ],
    ids=["address", "user", "key", "nothing"],
)
def test_what_we_did_not_write_is_nobody(config: str, known: str) -> None:
    assert list(read_unreachable("train-abcd", config, known, {"b": 1})) == []


def test_the_hosts_of_a_job_by_now() -> None:
    assert read_slots(hosts_text([JobHost("a", "10.0.0.11", 1), JobHost("b", "10.0.0.12", 4)])) == {
        "a": 1,
        "b": 4,
    }


@pytest.mark.parametrize("text", ["", "[]", '{"hosts": [{"name": "a"}]}', '{"hosts": 3}', "[" * 100_000])
def test_a_file_that_is_damaged_tells_nothing(text: str) -> None:
    assert read_slots(text) == {}


def test_a_host_of_two_jobs() -> None:
    member, key = MEMBERS[0], KEYS["a"]
    both = UnreachableHost(member, key, {"one": 1}).merged_with(UnreachableHost(member, key, {"two": 2}))
    assert both == UnreachableHost(member, key, {"two": 2, "one": 1})
    assert both.job_host_in("two") == JobHost("a", "10.0.0.11", 2)
