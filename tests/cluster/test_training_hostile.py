"""Jobs and hosts that mean harm, and words that could be taken for commands: training for real."""

import json
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import SSH_FOLDER, LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.terminal import Terminal
from tests.cluster.training import await_no_ranks, await_ranks, rank_reports, train_detached, training_cluster

pytestmark = pytest.mark.training

LAUNCHERS: tuple[str, ...] = ("horovod",)  # the others: tests/thorough

PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
UNICODE = "é 한국어 ☃ 🐳"
# As a file's name or a folder's: all but the slash.
NAME = PRINTABLE.replace("/", "") + "\n" + UNICODE
# A colon would end a mount's path, and a line is refused.
ODD = "/srv/odd/" + NAME.replace(":", "").replace("\n", "")
WORDS = [
    *PRINTABLE,
    "\n",
    "\t",
    "",
    PRINTABLE,
    f"{PRINTABLE}\n{PRINTABLE}",
    UNICODE,
    f"-{PRINTABLE}",
    "--",
    "-",
]
# What rich writes where there is a terminal: colours, and the cursor of its live table.
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A")
STEERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[LabCluster]:
    for host in lab.fresh(2):
        host.exec(["rm", "-rf", "/srv/odd"])
        host.exec(["mkdir", "-p", ODD])
        host.exec(["sh", "-c", 'echo "$2" > "$1/whose.txt"', "sh", ODD, host.name])
    mounts = [f"{ODD}:/odd:ro"]
    with training_cluster(lab, desk, mounts, launcher=launcher, env={"ODD": f"{PRINTABLE}\n{UNICODE}\n"}) as site:
        yield site
        for host in site.hosts:
            host.exec(["rm", "-rf", "/srv/odd"])


# Words


@pytest.fixture(scope="module")
def told(site: LabCluster) -> list[dict[str, Any]]:
    """One job that is given every character everywhere."""
    folder = site.folder / f"code {NAME}"
    (folder / "names").mkdir(parents=True)
    script = f"{NAME[: -len(UNICODE)]}.py"
    (folder / script).write_text((site.folder / "code" / "report_arguments.py").read_text())
    for name in (NAME, *(f"{letter}_" for letter in NAME), "-rf", "-", "--", "~"):
        (folder / "names" / name).write_text(name)
    flags = ["--workdir", str(folder), "--env", f"TOLD={PRINTABLE}\n", "--env", "FROM_HERE"]
    env = {"FROM_HERE": f"\n{PRINTABLE}"}
    site.run("train", *flags, "--", "python", f"./{script}", *WORDS, env=env)
    job = site.status()["jobs"][0]["job"]
    site.run("fetch", job, "words")
    home = site.folder / "words" / "out"
    for number in (0, 1):
        names = {path.name: path.read_text() for path in home.iterdir() if path.name.endswith(str(number))}
        assert {f"{name}{number}": name for name in (NAME, "-rf", "--", "\n_", "'_")}.items() <= names.items()
    return [json.loads((home / f"told-{number}.json").read_text()) for number in (0, 1)]


def test_every_character_reaches_every_rank_as_an_argument(told: list[dict[str, Any]]) -> None:
    assert [rank["arguments"] for rank in told] == [WORDS, WORDS]


def test_every_character_reaches_every_rank_in_the_environment(told: list[dict[str, Any]]) -> None:
    for rank in told:
        assert rank["environment"]["ODD"] == f"{PRINTABLE}\n{UNICODE}\n"
        assert rank["environment"]["TOLD"] == f"{PRINTABLE}\n"
        assert rank["environment"]["FROM_HERE"] == f"\n{PRINTABLE}"


def test_every_character_may_stand_in_names_of_code_and_mounts(site: LabCluster, told: list[dict[str, Any]]) -> None:
    for rank, host in zip(told, site.hosts, strict=True):
        assert rank["code"] == {name: name for name in rank["code"]} and NAME in rank["code"]
        assert {f"{letter}_" for letter in NAME} < set(rank["code"])
        assert rank["mounted"] == f"{host.name}\n"


# Output


def harmless(sent: bytes) -> str:
    """What the terminal was sent, after a look for anything in it that steers."""
    shown = OURS.sub("", sent.decode())
    stray = STEERING.search(shown)
    assert stray is None, ascii(shown[max(0, stray.start() - 80) : stray.end() + 80])
    return shown


def on_a_terminal(site: LabCluster, *words: str, code: int = 0) -> str:
    terminal = Terminal(site.cli, *words, cwd=site.folder)
    assert terminal.end() == code, terminal.screen
    return harmless(terminal.sent)


@pytest.fixture(scope="module")
def hostile(site: LabCluster) -> tuple[str, str]:
    """A job whose ranks mean harm, followed on a terminal: what it showed, and the job."""
    shown = on_a_terminal(site, "train", "code/hostile.py", "--", "fail", code=100)
    return shown, site.status()["jobs"][0]["job"]


def test_a_ranks_output_is_read_but_steers_nothing(site: LabCluster, hostile: tuple[str, str]) -> None:
    shown, job = hostile
    for number in range(9):
        assert f"│ readable {number}" in shown
    assert shown.count("to the end") >= 18 and "title-of-a-thief" not in shown
    again = site.run("logs", job).out
    assert "│ readable 8 to the end" in harmless(again.encode()) and "\x1b" not in again
    assert "readable 3 to the end" in on_a_terminal(site, "logs", job)
    kept = (site.folder / ".hvdocker" / "jobs" / job / "logs" / "output.log").read_bytes()
    assert b"\x1b]52;c;" in kept, "the log itself is data: it stays as it was"


def test_a_label_steers_nothing(site: LabCluster, launcher: LauncherCase) -> None:
    evil = "before\x1b]0;title-of-a-thief\x07\u009b2J\x1b[2Jafter"
    labels = {"cluster": site.cluster, "role": "master", "job": evil, "owner": evil, "placement": "{}"}
    flags = [word for name, value in labels.items() for word in ("--label", f"hvdocker.{name}={value}")]
    host = site.hosts[0]
    host.docker("create", "--name", "evil", *flags, launcher.image, "true")
    try:
        shown = on_a_terminal(site, "status")
        assert "before" in shown and "after" in shown
        assert "\x1b" not in site.run("status", "--json").out
    finally:
        host.docker("rm", "evil")


def test_traps_among_the_outputs_catch_nothing(site: LabCluster, hostile: tuple[str, str], tmp_path: Path) -> None:
    _, job = hostile
    folder = tmp_path / "a" / "home"
    folder.mkdir(parents=True)
    (folder / "precious.txt").write_text("precious")
    for host in site.hosts:
        host.exec(f"mknod {site.folder_on(host)}/jobs/{job}/out/device c 1 3")
    shown = on_a_terminal(site, "fetch", job, str(folder))
    for name in ("absolute", "climbing", "chain", "pipe", "device", ".*named"):
        assert re.search(rf"left out: h\d: out/{name}: ", shown), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["home"]
    assert (folder / "precious.txt").read_text() == "precious"
    assert (folder / "out" / "fine.txt").read_text() == (folder / "out" / "same").read_text() == "fine\n"
    assert (folder / "out" / "new\nline").read_text() == "there\n"
    assert b"readable 0" in (folder / "logs" / "output.log").read_bytes()
    for path in folder.rglob("*"):
        assert path.resolve().is_relative_to(folder) and (path.is_file() or path.is_dir())


# Keys


def test_no_private_key_is_seen_from_outside_the_containers(site: LabCluster) -> None:
    """While a job runs: in processes, in what the engine tells, in logs, in images."""
    job = train_detached(site, "code/gate.py", "--", "never")
    await_ranks(site, "gate.py never")
    for host in site.hosts:
        keys = [
            site.exec_in_worker(host, "cat", f"{SSH_FOLDER}/{name}")[1] for name in ("id_ed25519", "host_ed25519_key")
        ]
        secrets = ["OPENSSH PRIVATE KEY", *(line for key in keys for line in key.splitlines()[-4:-1])]
        assert len(secrets) == 7
        places = {
            "processes": "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'",
            "containers": "docker inspect $(docker ps -aq)",
            "images": "docker image inspect $(docker images -q)",
            "history": "for image in $(docker images -q); do docker history --no-trunc $image; done",
            "logs": "for name in $(docker ps -aq); do docker logs $name 2>&1; done",
        }
        for place, command in places.items():
            shown = host.exec(f"{command}; true")
            assert len(shown) > 100, place
            assert [secret for secret in secrets if secret in shown] == [], f"{host.name}: {place}"
    site.run("stop", job)
    await_no_ranks(site)


# Hosts


def test_a_worker_that_shows_another_key_gets_no_rank(site: LabCluster, launcher: LauncherCase) -> None:
    """On the address and port of h2's worker answers an sshd with a key of its own. Some launchers themselves
    ask for no checking at all."""
    h1, h2 = site.hosts
    addresses = () if launcher.is_collective else (h1.address,)
    key = f"{SSH_FOLDER}/host_ed25519_key"
    make = "rm -f /tmp/k /tmp/k.pub; ssh-keygen -q -t ed25519 -N '' -f /tmp/k"
    swap = f"{make} && cp {key} /tmp/own && cat /tmp/k > {key}"
    assert site.exec_in_worker(h2, "sh", "-c", swap)[0] == 0
    h2.docker("kill", "--signal", "HUP", site.worker)
    try:
        result = site.run("train", "code/report_environment.py", check=100)
        assert "Host key verification failed" in result.out + result.err
        # Ranks of `each` need no other rank.
        assert {rank["address"] for rank in rank_reports(result.out)} <= set(addresses)
        jobs = f"{site.folder_on(h2)}/jobs"
        job = site.status()["jobs"][0]["job"]
        assert h2.exec(f"ls {jobs}/{job}/logs {jobs}/{job}/out | grep rank; true") == ""
    finally:
        assert site.exec_in_worker(h2, "sh", "-c", f"cat /tmp/own > {key}")[0] == 0
        h2.docker("kill", "--signal", "HUP", site.worker)
    site.run("train", "code/report_environment.py")
