import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import ExitCode, HvdockerError, InventoryError, UsageProblem
from hvdocker.inventory.config import config
from hvdocker.inventory.inventory import KeyPair
from hvdocker.inventory.locate import FOLDER, Located, cluster_flag, inventory_flag, locate, read_inventory
from hvdocker.inventory.state_folder import forget, former_hosts, generate, point_at


def write(path: Path, cluster: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"cluster: {cluster}\nhosts: [a]\n")
    return path


def point(folder: Path, inventory: str) -> None:
    (folder / ".hvdocker").mkdir(exist_ok=True)
    (folder / ".hvdocker" / "current.json").write_text(json.dumps({"inventory": inventory}))


def env(cwd: Path, **environ: str) -> Env:
    return Env(cwd=cwd, environ=environ)


def cluster(found: Located) -> str:
    return found.inventory.cluster


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Every way to name a cluster at once, each naming another one."""
    write(tmp_path / "flag.yaml", "flag")
    write(tmp_path / "variable.yaml", "variable")
    write(tmp_path / "outer" / "far.yaml", "far")
    point(tmp_path / "outer", "far.yaml")
    write(tmp_path / "outer" / "inner" / "near.yaml", "near")
    point(tmp_path / "outer" / "inner", "near.yaml")
    write(tmp_path / "outer" / "inner" / "deep" / "inventory.yaml", "here")
    return tmp_path


def test_the_order(project: Path) -> None:
    deep = project / "outer" / "inner" / "deep"
    named = env(deep, HVDOCKER_INVENTORY=str(project / "variable.yaml"))
    assert cluster(locate(named, project / "flag.yaml")) == "flag"
    assert cluster(locate(named, None)) == "variable"
    assert cluster(locate(env(deep), None)) == "near"
    assert cluster(locate(env(project / "outer"), None)) == "far"


def test_an_inventory_here_is_the_last_resort(tmp_path: Path) -> None:
    for name in ("inventory.yaml", "inventory.yml"):
        path = write(tmp_path / name, "here")
        assert locate(env(tmp_path), None).path == path
        path.unlink()


def test_our_own_commands_name_the_inventory(tmp_path: Path) -> None:
    """Nothing is named only where the current cluster's generated file is meant anyway."""
    here, other = tmp_path / "my lab", tmp_path / "other"
    for folder in (here / FOLDER, other):
        folder.mkdir(parents=True)
    written = locate(env(here), write(here / "inventory.yaml", "lab"))
    made = locate(env(here), write(here / FOLDER / "inventory.yaml", "lab"))
    assert inventory_flag(env(here), written) == " -i inventory.yaml"
    assert inventory_flag(env(other), written) == f" -i '{here}/inventory.yaml'"
    assert inventory_flag(env(here), made) == ""
    assert inventory_flag(env(other), made) == f" -i '{here}/{FOLDER}/inventory.yaml'"


def test_never_a_guess_between_two(tmp_path: Path) -> None:
    write(tmp_path / "inventory.yaml", "one")
    write(tmp_path / "inventory.yml", "two")
    with pytest.raises(UsageProblem) as caught:
        locate(env(tmp_path), None)
    assert caught.value.what == "there are two inventories here: inventory.yaml, inventory.yml"
    assert caught.value.fix == "say which one with -i"


def test_no_cluster_at_all(tmp_path: Path) -> None:
    with pytest.raises(HvdockerError, match="there is no cluster here") as caught:
        locate(env(tmp_path), None)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "null", "7", '"x"', '{"inventory": null}', '{"inventory": ""}'])
def test_a_damaged_pointer_is_named(tmp_path: Path, text: str) -> None:
    point(tmp_path, "x")
    pointer = tmp_path / ".hvdocker" / "current.json"
    pointer.write_text(text)
    with pytest.raises(HvdockerError) as caught:
        locate(env(tmp_path), None)
    assert caught.value.what == f"{pointer} is damaged"
    assert caught.value.fix and str(pointer) in caught.value.fix


def test_a_pointer_to_an_inventory_that_is_gone(tmp_path: Path) -> None:
    point(tmp_path, "gone.yaml")
    with pytest.raises(UsageProblem, match=r"there is no inventory .*/gone\.yaml"):
        locate(env(tmp_path), None)


def test_a_flag_that_names_nothing_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="there is no inventory"):
        locate(env(tmp_path), Path("nope.yaml"))
    with pytest.raises(UsageProblem, match="cannot be read"):
        locate(env(tmp_path), tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match="cannot be read"):
        locate(env(tmp_path), Path("x.yaml"))


def test_problems_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("port: 1\n")
    with pytest.raises(InventoryError, match=r"^lab\.yaml has 1 problem$"):
        read_inventory(env(tmp_path), Path("lab.yaml"))


def test_the_clusters_name_is_its_folders(tmp_path: Path) -> None:
    folder = tmp_path / "My Lab"
    folder.mkdir()
    (folder / "inventory.yaml").write_text("hosts: [a]\n")
    assert cluster(locate(env(folder), None)) == "my-lab"


def test_key_paths_are_relative_to_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "x.yaml").write_text(
        "ssh: {key: keys/login}\n"
        "keys: {private: keys/mine, public: /abs/mine.pub}\n"
        "hosts: [a, {host: b, ssh: {key: /b}}]\n"
    )
    found = read_inventory(env(tmp_path), Path("lab/x.yaml")).inventory
    lab = tmp_path / "lab"
    assert [host.ssh.key for host in found.hosts] == [f"{lab}/keys/login", "/b"]
    assert found.keys == KeyPair(f"{lab}/keys/mine", "/abs/mine.pub")


def test_up_points_and_the_verbs_after_it_follow(tmp_path: Path) -> None:
    write(tmp_path / "lab.yaml", "lab")
    located = read_inventory(env(tmp_path), Path("lab.yaml"))
    point_at(located)
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    assert locate(env(deep), None) == located
    current = json.loads((tmp_path / ".hvdocker" / "current.json").read_text())
    assert current == {"inventory": "lab.yaml", "hosts": {"a": "a"}}
    forget(located)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lab.yaml", "src"]


def test_a_host_that_the_inventory_lost_is_remembered_until_down(tmp_path: Path) -> None:
    def inventory(*hosts: str) -> Located:
        (tmp_path / "lab.yaml").write_text(f"cluster: lab\nhosts: [{', '.join(hosts)}]\n")
        return read_inventory(env(tmp_path), Path("lab.yaml"))

    point_at(inventory("a", "b"))
    for _ in range(2):
        located = inventory("a", "c")
        assert former_hosts(located) == {"b": "b"}
        point_at(located)
    assert former_hosts(inventory("a", "b", "c")) == {}
    forget(located)
    assert former_hosts(located) == {}


@pytest.mark.parametrize("hosts", ["null", "7", "[]", '"x"', "{}"])
def test_a_pointer_without_hosts_of_use_says_nothing_of_former_ones(tmp_path: Path, hosts: str) -> None:
    write(tmp_path / "lab.yaml", "lab")
    located = read_inventory(env(tmp_path), Path("lab.yaml"))
    point_at(located)
    (tmp_path / ".hvdocker" / "current.json").write_text(f'{{"inventory": "lab.yaml", "hosts": {hosts}}}')
    assert former_hosts(located) == {}


def test_a_folder_may_be_moved_with_its_pointer(tmp_path: Path) -> None:
    old = tmp_path / "old"
    point_at(read_inventory(env(tmp_path), write(old / "lab.yaml", "lab")))
    old.rename(tmp_path / "new")
    assert cluster(locate(env(tmp_path / "new"), None)) == "lab"


def test_fetched_jobs_stay_when_the_cluster_goes(tmp_path: Path) -> None:
    located = read_inventory(env(tmp_path), write(tmp_path / "lab.yaml", "lab"))
    point_at(located)
    (located.jobs / "train-abcd").mkdir(parents=True)
    forget(located)
    assert [path.name for path in (tmp_path / ".hvdocker").iterdir()] == ["jobs"]


@pytest.mark.parametrize(("given", "hosts"), [({"local": 2}, ["w1", "w2"]), ({"hosts": ["a", "me@b"]}, ["a", "b"])])
def test_a_generated_inventory_is_written_only_when_it_counts(tmp_path: Path, given, hosts: list[str]) -> None:
    located = generate(env(tmp_path), image="mine:1", **given)
    assert [host.name for host in located.inventory.hosts] == hosts
    assert located.inventory.image == "mine:1"
    assert list(tmp_path.iterdir()) == []
    point_at(located)
    assert locate(env(tmp_path), None).inventory == located.inventory
    assert locate(env(tmp_path), None).folder == located.folder == tmp_path
    forget(located)
    assert list(tmp_path.iterdir()) == []


def test_forgetting_twice_is_fine(tmp_path: Path) -> None:
    located = generate(env(tmp_path), local=1)
    forget(located)
    forget(located)


def test_hosts_by_flag_are_checked_like_those_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="--hosts has 1 problem"):
        generate(env(tmp_path), hosts=["a", "a"])


def test_what_a_person_wrote_or_edited_stays_when_the_cluster_goes(tmp_path: Path) -> None:
    own = tmp_path / ".hvdocker" / "inventory.yaml"
    point_at(generate(env(tmp_path), local=1))
    written = own.read_text()
    for text in (
        f"{written}cpus: 2\n",
        f"{written}# my notes\n",
        written.replace("local: 1", "local: 2"),
        "cluster: mine\nhosts: [a]\n",
    ):
        own.write_text(text)
        located = read_inventory(env(tmp_path), own)
        point_at(located)
        forget(located)
        assert [path.name for path in own.parent.iterdir()] == ["inventory.yaml"]
        assert own.read_text() == text


def test_an_inventory_of_another_name_in_our_folder_stays(tmp_path: Path) -> None:
    path = write(tmp_path / ".hvdocker" / "lab.yaml", "lab")
    located = read_inventory(env(tmp_path), path)
    point_at(located)
    assert locate(env(tmp_path), None) == located
    forget(located)
    assert [entry.name for entry in path.parent.iterdir()] == ["lab.yaml"]


def test_a_cluster_that_goes_leaves_the_pointer_to_another(tmp_path: Path) -> None:
    first = read_inventory(env(tmp_path), write(tmp_path / "one.yaml", "one"))
    second = read_inventory(env(tmp_path), write(tmp_path / "two.yaml", "two"))
    assert point_at(first) is None
    assert point_at(first) is None
    assert point_at(second) == str(tmp_path / "one.yaml")
    forget(first)
    assert cluster(locate(env(tmp_path), None)) == "two"
    forget(second)
    assert not (tmp_path / ".hvdocker").exists()


def test_a_generated_inventory_outlives_the_end_of_another_cluster_beside_it(tmp_path: Path) -> None:
    point_at(generate(env(tmp_path), local=1))
    other = read_inventory(env(tmp_path), write(tmp_path / "lab.yaml", "lab"))
    assert point_at(other) == str(tmp_path / ".hvdocker" / "inventory.yaml")
    forget(other)
    assert [path.name for path in (tmp_path / ".hvdocker").iterdir()] == ["inventory.yaml"]


def test_a_damaged_pointer_is_replaced_without_a_word(tmp_path: Path) -> None:
    point(tmp_path, "")
    assert point_at(generate(env(tmp_path), local=1)) is None
    assert locate(env(tmp_path), None).inventory.is_local


@pytest.mark.parametrize(("first", "then"), [({"local": 2}, {"hosts": ["a"]}), ({"hosts": ["a"]}, {"local": 2})])
def test_a_cluster_is_not_orphaned_by_one_of_another_kind(tmp_path: Path, first, then) -> None:
    located = generate(env(tmp_path), **first)
    point_at(located)
    before = located.path.read_text()
    with pytest.raises(HvdockerError, match="this folder already has a cluster") as caught:
        generate(env(tmp_path), **then)
    assert caught.value.fix and "hvdocker down" in caught.value.fix
    assert located.path.read_text() == before
    forget(located)
    generate(env(tmp_path), **then)


def test_a_cluster_may_grow(tmp_path: Path) -> None:
    point_at(generate(env(tmp_path), local=1))
    assert len(generate(env(tmp_path), local=2).inventory.hosts) == 2


def test_a_broken_inventory_in_our_folder_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker").mkdir()
    for text in (b"{", b"\xff\xfe", b"a: b: c", b"[]"):
        (tmp_path / ".hvdocker" / "inventory.yaml").write_bytes(text)
        with pytest.raises(HvdockerError, match=r"inventory\.yaml"):
            generate(env(tmp_path), local=2)


def test_another_clusters_name_means_other_containers_of_the_same_hosts(tmp_path: Path) -> None:
    path = write(tmp_path / "my lab.yaml", "own")
    found = locate(env(tmp_path), path, "theirs-4kq2")
    assert cluster(found) == "theirs-4kq2" and found.inventory.hosts == locate(env(tmp_path), path).inventory.hosts
    assert found.flag == cluster_flag(env(tmp_path), found) == " -i 'my lab.yaml' --cluster theirs-4kq2"
    assert locate(env(tmp_path), path, "own") == locate(env(tmp_path), path)
    assert cluster_flag(env(tmp_path), locate(env(tmp_path), path)) == " -i 'my lab.yaml'"


@pytest.mark.parametrize("name", ["Upper", "a/b", "-i", "a b", "x" * 64])
def test_another_clusters_name_is_checked_as_in_an_inventory(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "inventory.yaml", "own")
    with pytest.raises(UsageProblem, match="--cluster should be at most 63 lower-case letters"):
        locate(env(tmp_path), path, name)
    with pytest.raises(UsageProblem, match="--cluster should be at most 63 lower-case letters"):
        generate(env(tmp_path), local=2, cluster=name)


def test_a_cluster_of_another_name_is_never_the_current_one(tmp_path: Path) -> None:
    path = write(tmp_path / "inventory.yaml", "own")
    other = locate(env(tmp_path), path, "other")
    assert point_at(other) is None and not (tmp_path / FOLDER).exists()
    point_at(locate(env(tmp_path), path))
    forget(other)
    assert cluster(locate(env(tmp_path), None)) == "own" and (tmp_path / FOLDER / "current.json").is_file()


def test_a_generated_inventory_takes_the_name_for_its_own(tmp_path: Path) -> None:
    made = generate(env(tmp_path), local=2, cluster="mine")
    point_at(made)
    assert (cluster(made), made.flag) == ("mine", "")
    assert cluster(locate(env(tmp_path), None)) == "mine"


@pytest.fixture
def pipe() -> Iterator[Callable[[str], Path]]:
    """Makes a pipe as `<(…)` does, with a text in it."""
    ends: list[int] = []

    def make(text: str) -> Path:
        reading, writing = os.pipe()
        ends.append(reading)
        os.write(writing, text.encode())
        os.close(writing)
        return Path(f"/dev/fd/{reading}")

    yield make
    for end in ends:
        os.close(end)


def test_an_inventory_from_a_pipe_is_read_and_named_as_such(tmp_path: Path, pipe: Callable[[str], Path]) -> None:
    view = config(env(tmp_path), pipe("hosts: [a]\n"))
    assert view.path == "the inventory from a pipe" and [host.host for host in view.inventory.hosts] == ["a"]
    with pytest.raises(InventoryError, match=r"^the inventory from a pipe has 1 problem$"):
        config(env(tmp_path), pipe("hosts: []\n"))


def test_a_hostfile_in_a_pipe_is_no_inventory(tmp_path: Path, pipe: Callable[[str], Path]) -> None:
    with pytest.raises(UsageProblem, match=r"^the inventory from a pipe looks like a hostfile$") as caught:
        read_inventory(env(tmp_path), pipe("a slots=2\n"))
    assert caught.value.fix and "write it to a file" in caught.value.fix


def test_a_pipe_cannot_be_the_current_inventory(tmp_path: Path, pipe: Callable[[str], Path]) -> None:
    located = read_inventory(env(tmp_path), pipe("hosts: [a]\n"))
    with pytest.raises(UsageProblem, match="can be read once only") as caught:
        point_at(located)
    assert caught.value.fix and "write it to a file" in caught.value.fix


def test_the_command_for_another_tools_file_does_not_write_over_it(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("all:\n  hosts: {a: }\n")
    with pytest.raises(UsageProblem) as caught:
        locate(env(tmp_path), None)
    assert caught.value.fix == f"write one: hvdocker init cluster.yaml --from {tmp_path}/inventory.yaml"
