import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from hvdocker.observe.probe import (
    docker_arch,
    listeners,
    listening_ports,
    port_holder,
    probe,
    reached_address,
    read_probe,
)

ANSWER = """\
uid 1000
gid 1001
home /home/a b
reached 10.0.0.1 50000 10.0.0.11 22
socket denied /var/run/docker.sock
socket ok /run/user/1000/docker.sock
cli yes
address 127.0.0.1
address 10.0.0.11
listens 0016
listens 3039
listens 0016
homefree 1048576
gpu 0, GPU-1234, Tesla T4
missing /no such
job train-abcd
job eval-aaaa
clusterdir /home/a b/.hvdocker/lab
a line from some login banner
done
"""


def test_an_answer_read() -> None:
    answer = read_probe(ANSWER)
    assert answer.is_complete
    assert (answer.number("uid", 0), answer.number("gid", 0), answer.number("homefree", 0)) == (
        1000,
        1001,
        1048576,
    )
    assert answer.values["home"] == "/home/a b"
    assert answer.all("socket") == ["denied /var/run/docker.sock", "ok /run/user/1000/docker.sock"]
    assert answer.all("address") == ["127.0.0.1", "10.0.0.11"]
    assert answer.all("gpu") == ["0, GPU-1234, Tesla T4"]
    assert answer.all("missing") == ["/no such"]
    assert answer.all("job") == ["train-abcd", "eval-aaaa"]
    assert answer.all("never said") == []
    assert listening_ports(answer) == {22, 12345}
    assert reached_address(answer) == "10.0.0.11"


def test_an_answer_cut_short_is_not_whole() -> None:
    answer = read_probe(ANSWER.partition("clusterdir")[0])
    assert not answer.is_complete


@pytest.mark.parametrize("text", ["", "homefree \n", "homefree df: no such file\n", "homefree -5\n"])
def test_what_is_missing_or_no_number_has_a_default(text: str) -> None:
    assert read_probe(text).number("homefree", 7) == 7


@pytest.mark.parametrize(
    ("reached", "address"),
    [
        ("10.0.0.1 5 ::ffff:10.0.0.11 22", "10.0.0.11"),
        ("fe80::1 5 fe80::2 22", "fe80::2"),
        ("", ""),
        ("x y", ""),
    ],
)
def test_the_address_by_which_the_host_was_reached(reached: str, address: str) -> None:
    assert reached_address(read_probe(f"reached {reached}\n")) == address


def test_a_nonsense_port_does_not_break_the_probe() -> None:
    assert listening_ports(read_probe("listens 0050\nlistens \nport 81\nport x\n")) == {80, 81}


@pytest.mark.parametrize(
    ("machine", "arch"),
    [("x86_64", "amd64"), ("aarch64", "arm64"), ("armv7l", "arm"), ("riscv64", "riscv64")],
)
def test_the_engines_words_become_the_images(machine: str, arch: str) -> None:
    assert docker_arch(machine) == arch


def run_here(words: tuple[str, ...], home: Path, path: str = "/usr/bin:/bin") -> str:
    environment = {"PATH": path, "HOME": str(home)}
    return subprocess.run(words, capture_output=True, env=environment, check=True).stdout.decode()


def test_the_script_really_run(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker" / "lab" / "a" / "jobs" / "train-abcd").mkdir(parents=True)
    (tmp_path / ".hvdocker" / "lab" / "a" / "members").write_text("a=10.0.0.11 b=10.0.0.12\nuid 7\n")
    (tmp_path / "there").touch()
    nasty = f"{tmp_path}/not there; $(touch {tmp_path}/evil)"
    text = run_here(probe("lab", "a", [str(tmp_path / "there"), nasty]).argv, tmp_path)
    answer = read_probe(text)
    assert answer.is_complete
    assert answer.values["home"] == str(tmp_path.resolve())
    assert answer.number("uid", -1) >= 0
    assert answer.all("missing") == [nasty]
    assert answer.all("job") == ["train-abcd"]
    assert answer.all("lacks") == []
    assert answer.values["clusterdir"] == f"{tmp_path.resolve()}/.hvdocker/lab/a"
    assert answer.all("members") == ["a=10.0.0.11 b=10.0.0.12"] and len(answer.all("uid")) == 1
    assert answer.number("homefree", 0) > 0
    assert not (tmp_path / "evil").exists()


NEEDED = ("tar", "gzip", "sha256sum", "find", "xargs", "stat")


@pytest.mark.parametrize("missing", NEEDED)
def test_a_tool_that_the_host_lacks_is_named(tmp_path: Path, missing: str) -> None:
    for tool in {"sh", "id", *NEEDED} - {missing}:
        real = shutil.which(tool)
        assert real is not None
        (tmp_path / tool).symlink_to(real)
    answer = read_probe(run_here(probe("lab", "a", []).argv, tmp_path, str(tmp_path)))
    assert answer.all("lacks") == [missing] and answer.is_complete


def test_in_a_shared_home_a_host_has_a_folder_of_its_own(tmp_path: Path) -> None:
    for host in ("a", "b"):
        (tmp_path / ".hvdocker" / "lab" / host / "jobs" / f"train-{host * 4}").mkdir(parents=True)
    answer = read_probe(run_here(probe("lab", "b", []).argv, tmp_path))
    assert answer.values["clusterdir"] == f"{tmp_path.resolve()}/.hvdocker/lab/b"
    assert answer.all("job") == ["train-bbbb"]


def test_another_hosts_folder_in_a_shared_home_is_not_this_hosts(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker" / "lab" / "a" / "jobs" / "train-aaaa").mkdir(parents=True)
    answer = read_probe(run_here(probe("lab", "b", []).argv, tmp_path))
    assert "clusterdir" not in answer.values and answer.all("job") == []


def test_the_folder_of_a_cluster_that_an_earlier_version_made_is_found(tmp_path: Path) -> None:
    for folder in ("code", "jobs/train-abcd"):
        (tmp_path / ".hvdocker" / "lab" / folder).mkdir(parents=True)
    answer = read_probe(run_here(probe("lab", "a", []).argv, tmp_path))
    assert answer.values["clusterdir"] == f"{tmp_path.resolve()}/.hvdocker/lab"
    assert answer.all("job") == ["train-abcd"]


def test_the_script_where_the_cluster_never_was(tmp_path: Path) -> None:
    answer = read_probe(run_here(probe("lab", "a", []).argv, tmp_path))
    assert answer.is_complete
    assert "clusterdir" not in answer.values
    assert answer.all("job") == [] and answer.all("missing") == []


@pytest.mark.parametrize("tools", [("ss", "ip"), ("sed",)], ids=["ss", "no ss"])
def test_the_ports_on_which_processes_listen(tmp_path: Path, tools: tuple[str, ...]) -> None:
    for tool in ("sh", "id", *tools):
        real = shutil.which(tool)
        if real is None:
            return  # not installed here
        (tmp_path / tool).symlink_to(real)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        opened = {server.getsockname()[1], other.getsockname()[1]}
        with socket.create_connection(server.getsockname()) as client:
            own = client.getsockname()[1]
            found = [
                listening_ports(read_probe(run_here(words.argv, tmp_path, str(tmp_path))))
                for words in (probe("lab", "a", []), listeners())
            ]
    assert [opened <= ports and own not in ports for ports in found] == [True, True]


def test_a_host_with_a_folder_of_the_cluster_is_not_asked_for_its_ports(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker" / "lab" / "a" / "jobs").mkdir(parents=True)
    answer = read_probe(run_here(probe("lab", "a", []).argv, tmp_path))
    assert "ports" not in answer.values and listening_ports(answer) == frozenset()


def test_nobody_holds_a_port_that_nobody_listens_on() -> None:
    done = subprocess.run(port_holder(1).argv, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_jobs_folder_cannot_speak_for_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """A rank may make folders of any name there; dash's own echo would turn a backslash into a new line."""
    monkeypatch.setenv("HOME", str(tmp_path))
    names = ["x\ngpu 0, GPU-evil, fake", "y\\ngpu 1, GPU-evil, fake", "z\u2028gpu 2", "t\\c", "train-abcd"]
    for name in names:
        (tmp_path / ".hvdocker" / "lab" / "a" / "jobs" / name).mkdir(parents=True)
    argv = [shell, *probe("lab", "a", ["/no\\nsuch", "/no\ngpu 3"]).argv[1:]]
    out = subprocess.run(argv, capture_output=True, check=True).stdout.decode()
    answer = read_probe(out)
    assert answer.is_complete and not any("GPU-evil" in gpu or gpu == "3" for gpu in answer.all("gpu"))
    assert sorted(answer.all("job")) == sorted(names[1:])
    assert answer.all("missing") == ["/no\\nsuch", "/no"]
