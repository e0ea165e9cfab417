"""init writes the hosts of another tool's file, names what it leaves out, and never writes over that file."""

import os
import random
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import InventoryError, UsageProblem
from hvdocker.inventory.init import InitReport, InitRequest, init
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.inventory.locate import read_inventory


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Env:
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Env(cwd=tmp_path / "here", environ={})


def take(env: Env, text: str, *hosts: str, name: str = "hostfile") -> InitReport:
    (env.cwd / name).write_text(text)
    return init(env, InitRequest(hosts=hosts, is_forced=True, source=Path(name)))


def written(env: Env) -> tuple[Host, ...]:
    return read_inventory(env, Path("inventory.yaml")).inventory.hosts


@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("how", ["same", "relative", "symlink", "hardlink", "link-to-folder"])
def test_the_file_that_the_hosts_come_from_is_never_written_over(env: Env, how: str, is_forced: bool) -> None:
    source = env.cwd / "hosts.yaml"
    source.write_text("all:\n  hosts: {a: }\n")
    target = env.cwd / "target.yaml"
    if how == "symlink":
        target.symlink_to(source)
    elif how == "hardlink":
        os.link(source, target)
    elif how == "relative":
        target = Path("../here/./hosts.yaml")
    elif how == "link-to-folder":
        (env.cwd / "link").symlink_to(env.cwd)
        target = env.cwd / "link" / "hosts.yaml"
    else:
        target = source
    with pytest.raises(UsageProblem, match="it is the file behind --from too"):
        init(env, InitRequest(target, is_forced=is_forced, source=Path("hosts.yaml")))
    assert source.read_text() == "all:\n  hosts: {a: }\n"


def test_a_host_of_the_file_that_is_named_again_is_taken_once(env: Env) -> None:
    take(env, "[gpus]\na slots=4\nb ansible_host=10.0.0.1 ansible_user=kim\n", "a", "10.0.0.1", "kim@b", "c")
    assert [(host.name, host.slots) for host in written(env)] == [("a", 4), ("b", None), ("c", None)]


def test_a_host_that_is_named_again_with_another_user_is_refused(env: Env) -> None:
    with pytest.raises(InventoryError) as caught:
        take(env, "a slots=4\n", "kim@a")
    assert caught.value.lines == ("the name 'a' is there twice",)


def test_a_file_whose_hosts_have_no_slots_is_refused(env: Env) -> None:
    with pytest.raises(UsageProblem, match="has no host that an inventory can have") as caught:
        take(env, "a slots=0\n")
    assert caught.value.lines == ("a is left out: it has no slots",)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pyproject.toml", "[a]\nb\n", "is a TOML file, not a list of hosts"),
        ("setup.cfg", "[metadata]\nname = x\n", "is a file of settings (TOML or INI), not a list"),
        ("requirements-dev.txt", "numpy\ntorch\n", "is a requirements file of pip, not a list"),
        ("pins", "numpy\ntorch==2.4\n", "is a requirements file of pip, not a list"),
        ("compose.yaml", "services:\n  a: {image: x}\n", "is a Compose file, not a list"),
        ("lab.yaml", "hosts: [a, b]\n", "is an inventory of hvdocker, not a list"),
        ("hostfile", "a slots=4\nb, c\n", "is neither a hostfile nor an Ansible inventory"),
    ],
)
def test_a_file_without_hosts_is_refused_by_its_kind(env: Env, name: str, text: str, said: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        take(env, text, name=name)
    assert said in caught.value.what and "--from reads a hostfile" in str(caught.value.fix)
    assert not (env.cwd / "inventory.yaml").exists()


def test_the_first_line_that_is_no_host_is_shown(env: Env) -> None:
    with pytest.raises(UsageProblem) as caught:
        take(env, "# mpi\na slots=4\nb, c\n")
    assert caught.value.lines == ("no host: line 3: b, c",)


def test_of_the_own_ssh_config_only_the_names_are_taken(env: Env) -> None:
    config = Path.home() / ".ssh" / "config"
    config.write_text("Host gpu-a\n  HostName 10.0.0.1\nHost *\n  User kim\n")
    init(env, InitRequest(source=config))
    assert written(env) == (Host("gpu-a", "gpu-a"),)


def test_of_another_ssh_config_everything_is_taken_that_an_inventory_has_a_key_for(env: Env) -> None:
    text = """\
Host gpu-a
  HostName 10.0.0.1
  Port 2222
  IdentityFile /keys/lab
  ProxyJump bastion
  ForwardAgent yes
Host bastion
  HostName lab.example
Host *
  User kim
"""
    report = take(env, text, name="config")
    assert written(env) == (
        Host("gpu-a", "10.0.0.1", ssh=SshSettings("kim", 2222, "/keys/lab", "kim@lab.example")),
        Host("bastion", "lab.example", ssh=SshSettings("kim")),
    )
    assert report.notes == ("forwardagent is left out; ~/.ssh/config may say it",)


def test_an_ssh_config_from_a_pipe_is_read_once(env: Env) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as file:
        file.write("Host gpu-a\n  HostName 10.0.0.1\n")
        file.close()
        init(env, InitRequest(source=Path(f"/dev/fd/{reading}")))
    assert written(env) == (Host("gpu-a", "10.0.0.1"),)


@pytest.mark.parametrize(
    ("jump", "wanted"),
    [
        ("bastion", "jb@10.9.9.9:2200"),
        ("kim@bastion", "kim@10.9.9.9:2200"),
        ("ssh://kim@bastion:22", "kim@10.9.9.9:22"),
        ("gate.example,bastion", "gate.example,jb@10.9.9.9:2200"),
        ("v6", "[fd00::1]"),
        ("v6:2200", "[fd00::1]:2200"),
    ],
)
def test_a_jump_host_that_the_ssh_config_names_becomes_its_address(env: Env, jump: str, wanted: str) -> None:
    bastions = "Host bastion\n  HostName 10.9.9.9\n  User jb\n  Port 2200\nHost v6\n  HostName fd00::1\n"
    take(env, f"{bastions}Host gpu-a\n  ProxyJump {jump}\n", name="config")
    assert [host.ssh.jump for host in written(env) if host.name == "gpu-a"] == [wanted]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_has_the_hosts_and_slots_of_the_hostfile(env: Env, seed: int) -> None:
    text, wanted = hostfile(random.Random(seed))
    take(env, text)
    found = {(host.host, host.ssh.user, host.ssh.port): host.slots for host in written(env)}
    assert found == wanted, text


def hostfile(chance: random.Random) -> tuple[str, dict[tuple[str, str | None, int | None], int | None]]:
    """A hostfile in one of the spellings, and the slots that each host (address, user and port) should have."""
    spelling = chance.choice(["mpi", "mpich", "deepspeed", "port", "pbs", "names", "range"])
    wanted: dict[tuple[str, str | None, int | None], int | None] = {}
    lines: list[str] = []
    for number in chance.sample(range(1000), chance.randint(1, 30)):
        host = chance.choice([f"gpu-{number}", f"10.0.{number // 256}.{number % 256}", f"n{number}.lab.example"])
        user, port = chance.choice([None, "kim"]), None
        slots: int | None = chance.randint(1, 16)
        login = f"{user}@{host}" if user else host
        if spelling == "mpi":
            line = f"{login} slots = {slots}{chance.choice(['', f' max-slots={slots}'])}"
        elif spelling == "mpich":
            line = f"{login}:{slots}"
        elif spelling == "deepspeed":
            line = f"{login} slots={slots}"
        elif spelling == "port":
            port = chance.choice([22, 2222, 10022])
            line = f"{login}:{port} slots={slots}"
        elif spelling == "pbs":
            line = "\n".join([login] * (slots + 1))
            slots += 1
        elif spelling == "range":
            host = f"r{number}-[08:11]"
            line = f"{f'{user}@' if user else ''}{host} slots={slots}"
        else:
            slots, line = None, login
        names = [f"r{number}-{n:02}" for n in range(8, 12)] if spelling == "range" else [host]
        wanted |= {(name, user, port): slots for name in names}
        lines.append(line + chance.choice(["", "  # rack 7", "\n\n"]))
    end = chance.choice(["\n", "\r\n"])
    return chance.choice(["", "\ufeff"]) + "\n".join(lines).replace("\n", end) + end, wanted
