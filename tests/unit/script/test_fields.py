"""Every text of an inventory, and every word of a host that ends up in a script, with everything in it that a
shell would read: refused, or intact, and never run."""

import string
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.errors import InventoryError
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.parse import parse
from hvdocker.shell import host_folders
from hvdocker.shell.command import Command
from hvdocker.transport.ssh.command_line import ssh_words
from tests.unit.builders import MAKER, host_seen, state_of
from tests.unit.script.script_run import ScriptRun

PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
INJECTIONS = (
    "$(touch evil)", "`touch evil`", "; touch evil;", "\ntouch evil\n", "' ; touch evil; '",
    '" ; touch evil; "', "| touch evil", "& touch evil &", "-oProxyCommand=touch evil", "x\rtouch evil",
    "\\'; touch evil #",
    "HVDOCKER_END\ntouch evil\n", "${IFS}touch${IFS}evil", "{{ 7*7 }}",
)  # fmt: skip
# Where a text may stand, with {} for it.
PLACES = {
    "cluster": lambda text: {"cluster": text},
    "image": lambda text: {"image": text},
    "network": lambda text: {"network": text},
    "user": lambda text: {"user": text},
    "registry": lambda text: {"registry": text},
    "env name": lambda text: {"env": {text: "x"}},
    "env value": lambda text: {"env": {"X": text}},
    "mount source": lambda text: {"mounts": [f"/srv/{text}:/data"]},
    "mount target": lambda text: {"mounts": [f"/srv:/{text}/data:ro"]},
    "login": lambda text: {"ssh": {"user": text}},
    "login key": lambda text: {"ssh": {"key": text}},
    "jump": lambda text: {"ssh": {"jump": text}},
    "host": lambda text: {"hosts": [text]},
    "user at host": lambda text: {"hosts": [f"{text}@a"]},
    "host name": lambda text: {"hosts": [{"host": "a", "name": text}]},
    "address": lambda text: {"hosts": [{"host": "a", "address": text}]},
}
NEVER = {"cluster", "image", "network", "user", "registry", "env name", "host", "user at host", "host name",
         "address", "login", "jump"}  # fmt: skip


def parsed(place: str, text: str) -> Inventory | None:
    """None where it is refused."""
    value: dict[str, Any] = {"hosts": ["a"], **PLACES[place](text)}
    try:
        return parse(yaml.safe_dump(value, allow_unicode=True), "inventory.yaml", "lab")
    except InventoryError as error:
        assert error.problems
        return None


def ran(wanted: Inventory, folder: Path, home: str) -> ScriptRun:
    folder.mkdir()
    state = state_of(host_seen(wanted.hosts[0].name, home=home, reached_at="10.0.0.11", addresses=("10.0.0.11",)))
    return ScriptRun(plan_up(wanted, state, plan_hosts(wanted, state), MAKER), wanted, folder)


@pytest.mark.parametrize("place", PLACES)
def test_no_text_of_an_inventory_is_run(tmp_path: Path, place: str) -> None:
    """What a place takes at all it takes all at once: a script costs a second."""
    taken = [text for text in INJECTIONS if parsed(place, text)]
    assert bool(taken) == (place not in NEVER), taken
    if wanted := parsed(place, " ".join(taken)) if taken else None:
        done = ran(wanted, tmp_path / "x", str(tmp_path / "home"))
        assert any(words[2] == "create" for words in done.calls)
        assert not list(tmp_path.rglob("evil"))


def test_every_character_in_a_mount_reaches_docker_as_it_is(tmp_path: Path) -> None:
    source = f"/srv/{PRINTABLE.replace(':', '')}한국어"
    wanted = parsed("mount source", source.removeprefix("/srv/"))
    assert wanted
    assert wanted.mounts[0].source == source
    (create,) = [words for words in ran(wanted, tmp_path / "x", str(tmp_path)).calls if words[2] == "create"]
    assert create[create.index(f"{source}:/data:rw") - 1] == "--volume", create


def test_what_a_mount_or_a_variable_cannot_hold_is_refused() -> None:
    assert parsed("mount source", "a:b:c") is None
    assert parsed("mount source", "a\0b") is None
    assert parsed("mount source", "a\nb") is None
    assert parsed("env value", "a\0b") is None


@pytest.mark.parametrize("text", ["../train", "x/../../run/hvdocker", "/train", "./out", "etc/./passwd"])
def test_no_way_round_leads_a_mount_over_our_own_folders(text: str) -> None:
    value = {"hosts": ["a"], "mounts": [f"/srv:/{text}"]}
    with pytest.raises(InventoryError, match="problem"):
        parse(yaml.safe_dump(value), "inventory.yaml", "lab")


def test_a_hosts_word_for_its_home_is_not_run(tmp_path: Path) -> None:
    home = f"{tmp_path}/{' '.join(INJECTIONS)}"
    wanted = parsed("cluster", "lab")
    assert wanted
    done = ran(wanted, tmp_path / "x", home)
    (create,) = [words for words in done.calls if words[2] == "create"]
    assert f"{home}/.hvdocker/lab/a/code:/train" in create
    assert Path(f"{home}/.hvdocker/lab/a/code").is_dir()
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("place", ["login", "jump", "user at host"])
def test_a_login_is_never_an_option_of_ssh(place: str) -> None:
    for letter in PRINTABLE + "\n\t":
        for text in (letter, f"{letter}x", f"x{letter}", f"x,{letter}x"):
            if wanted := parsed(place, text):
                words = ssh_words(wanted.hosts[0])
                assert not words[-1].startswith("-") and not set("\n\t ;|&`'\"<>(){}") & set(words[-1])


@pytest.mark.parametrize("user", ["ada", "DOMAIN\\ada", "ada@corp.example", "svc-train_1.x", "host$"])
def test_names_that_people_have_are_taken(user: str) -> None:
    wanted = parsed("login", user)
    assert wanted and wanted.hosts[0].ssh.user == user


SHELLS = ("sh", "dash", "bash")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", [PRINTABLE.replace("/", ""), "a\nb", "\n", "-rf", "é한국🐳", *INJECTIONS], ids=ascii)
def test_folders_of_any_name_are_made_filled_packed_and_removed(tmp_path: Path, shell: str, name: str) -> None:
    def run(command: Command, stdin: bytes = b"") -> bytes:
        """As a login shell would read it."""
        done = subprocess.run([shell, "-c", command.line()], input=stdin, capture_output=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    folder = tmp_path / ".hvdocker" / name
    run(host_folders.make_folders(str(folder), [f"{folder}/out", f"{folder}/{name}"]))
    run(host_folders.write_file(f"{folder}/{name}/{name}"), b"content")
    archive = run(host_folders.pack_tar(str(folder), ["out", name]))
    run(host_folders.unpack_tar(f"{tmp_path}/copy/{name}"), archive)
    assert (tmp_path / "copy" / name / name / name).read_text() == "content"
    run(host_folders.remove_tree(str(folder)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]
