"""Which hosts `up` does without, and how it tells of them."""

from dataclasses import dataclass, field, replace

import pytest

from hvdocker import assets
from hvdocker.cluster.containers.files import trust_files
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.find_unreachable import unreachable_hosts
from hvdocker.cluster.unreachable_host import UnreachableHost
from hvdocker.cluster.up import UpReport
from hvdocker.errors import ExitCode, HostErrors, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.plan.plan import Plan
from hvdocker.protocol.hosts_file import hosts_text
from hvdocker.protocol.job_file import JobHost
from tests.unit.builders import ADDRESSES, HOST_KEYS, host_with_worker, inventory, master, state_of
from tests.unit.fakes import FakeEngine, FakeLink

LAB = inventory("hosts: [a, b, c]\nport: 12345\n")
MEMBERS = [ClusterMember(name, address, "hvd") for name, address in ADDRESSES.items()]
TRUST = trust_files(assets.ssh_config_template(), "lab", MEMBERS, 12345, HOST_KEYS, "ssh-ed25519 C")
FILES = {f"/run/hvdocker/{file.path}": (file.content or "").encode() for file in TRUST}
B_AWAY: dict[str, HvdockerError] = {"b": HostUnreachable("b:22 did not answer", host="b", fix="power it on")}
C_AWAY: dict[str, HvdockerError] = {"c": HostUnreachable("c:22 did not answer", host="c")}
ELASTIC = master("train-abcd", '{"a":1,"b":2}', elastic="1:4")


@dataclass
class Head(FakeLink):
    """Its engine has a master with these files."""

    files: dict[str, bytes] = field(default_factory=lambda: dict(FILES))

    def engine(self) -> FakeEngine:
        return FakeEngine(self.files)


def seen(*masters: ContainerSeen) -> ClusterState:
    a = host_with_worker(LAB, "a")
    return state_of(replace(a, containers=(*a.containers, *masters)))


def test_a_host_of_an_elastic_job_is_done_without() -> None:
    found = unreachable_hosts({"a": Head()}, seen(ELASTIC), B_AWAY)
    assert found == {"b": UnreachableHost(MEMBERS[1], HOST_KEYS["b"], {"train-abcd": 2})}


def test_so_is_one_that_joined_it() -> None:
    joined = hosts_text([JobHost("a", "10.0.0.11", 1), JobHost("c", "10.0.0.13", 3)]).encode()
    head = Head(files={**FILES, "/run/hvdocker/hosts.json": joined})
    found = unreachable_hosts({"a": head}, seen(ELASTIC), C_AWAY)
    assert found == {"c": UnreachableHost(MEMBERS[2], HOST_KEYS["c"], {"train-abcd": 3})}


def test_where_all_answer_nobody_is_asked() -> None:
    assert unreachable_hosts({"a": FakeLink()}, seen(ELASTIC), {}) == {}


@pytest.mark.parametrize(
    ("masters", "failed", "files"),
    [
        ((), B_AWAY, FILES),
        ((master("train-abcd", '{"a":1,"b":1}'),), B_AWAY, FILES),
        ((master("train-abcd", '{"a":1,"b":1}', "exited", elastic="1:"),), B_AWAY, FILES),
        ((ELASTIC,), C_AWAY, FILES),
        ((ELASTIC,), {"b": HostUnfit("no Docker engine is running", host="b")}, FILES),
        ((ELASTIC,), B_AWAY, {}),
    ],
    ids=["no job", "not elastic", "over", "not its host", "its engine is down", "not known to the master"],
)
def test_else_it_is_an_error_as_ever(
    masters: tuple[ContainerSeen, ...], failed: dict[str, HvdockerError], files: dict[str, bytes]
) -> None:
    with pytest.raises(HvdockerError) as caught:
        unreachable_hosts({"a": Head(files=files)}, seen(*masters), failed)
    assert caught.value is next(iter(failed.values()))


def test_all_are_named_where_one_of_them_is_wanted() -> None:
    with pytest.raises(HostErrors) as caught:
        unreachable_hosts({"a": Head()}, seen(ELASTIC), {**B_AWAY, **C_AWAY})
    assert [error.host for error in caught.value.errors] == ["b", "c"]


def test_the_host_is_named_at_the_end_by_its_own_error() -> None:
    report = UpReport(Plan("up", "lab"), {}, tuple(B_AWAY.values()))
    assert report.exit_code == ExitCode.UNREACHABLE
    with pytest.raises(HostUnreachable) as caught:
        report.raise_errors()
    assert (str(caught.value), caught.value.fix) == ("b: b:22 did not answer", "power it on")
    whole = UpReport(Plan("up", "lab"), {})
    whole.raise_errors()
    assert whole.exit_code == ExitCode.OK
