"""What a configuration says of a host is what `ssh -G` says of it."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.inventory.ssh_config import config as ssh_config
from hvdocker.inventory.ssh_config.keywords import KEYWORDS, is_keyword

pytestmark = pytest.mark.skipif(not shutil.which("ssh"), reason="there is no ssh to compare with")

HOSTS = ("gpu-a", "gpu-b.work", "10.0.0.7")
ASKED = ("user", "hostname", "port", "identityfile", "proxyjump")
# Files by name; `config` is the user's, `system` the system's. DIR is where they are.
CASES = {
    "an include in a block": {
        "config": "Host *.work\n  Include DIR/work\nHost gpu-a\n  User kim\n",
        "work": "Port 2200\nHost *\n  User corp\n",
    },
    "the block goes on after its include": {
        "config": "Host gpu-a\n  Include DIR/one DIR/two\n  Port 9\nUser late\n",
        "one": "Host other\n  Port 1\n",
        "two": "IdentityFile /k2\nMatch all\n  User inner\n",
    },
    "includes in includes": {
        "config": "Host gpu*\n  Include DIR/one\nHost *\n  User last\n",
        "one": "Host *.work\n  Include DIR/two\nHost *\n  Port 5\n",
        "two": "Host *\n  User two\nHost gpu-a\n  Port 6\n",
    },
    "an include in a match": {
        "config": "Match user corp\n  Include DIR/one\nUser corp\nMatch host gpu-* user root\n Include DIR/one\n",
        "one": "Host gpu-a\n  Port 4\n",
    },
    "fedora": {"config": "", "system": "Match final all\n  User fed\n  Port 3\nHost *\n  Port 4\n"},
    "final": {
        "config": "Match final host 10.1.*\n  User far\nMatch !final\n  Port 3\n"
        "Host gpu-a\n  HostName 10.1.2.3\nHost 10.1.2.3\n  IdentityFile /second\n",
    },
    "final that is never meant": {
        "config": "Host nobody\n  Include DIR/one\nHost gpu-a\n  HostName x.y\nHost x.y\n  User seen\n",
        "one": "Match final all\n  Port 3\n",
    },
    "canonical without domains": {
        "config": "CanonicalizeHostname yes\nMatch canonical all\n  User canon\n"
        "Host gpu-a\n  HostName %h.lab\nHost gpu-a.lab\n  Port 8\n",
    },
    "the first of jump and command": {
        "config": "Host gpu-a\n  ProxyJump a@hop:7,hop2\nHost gpu-b*\n  ProxyCommand nc %h %p\n"
        "Host *\n  ProxyJump late\n  ProxyCommand late\n",
    },
    "no jump": {"config": "Host gpu-a\n  ProxyJump none\nHost *\n  ProxyJump hop\n"},
    "keys of all blocks": {
        "config": "Host gpu-a\n IdentityFile /a\n IdentityFile /a\n IdentityFile '/b c'\n",
        "system": "IdentityFile /b\nHost *\n  IdentityFile /a\n",
    },
    "quotes, equals signs and comments": {
        "config": 'Host "gpu-a" # and\n  User="kim" # no\n  Port = 7#8\n'.replace("7#8", "78 # 9"),
    },
    "negated and odd patterns": {
        "config": "Host gpu-* !gpu-a\n  User b\nHost gpu-[a]\n  User c\nHost ?pu-a\n  Port 7\n"
        "Host !gpu-a\n  Port 8\nMatch originalhost *,!gpu-a\n  Port 9\nMatch !host GPU-A\n  User d\n"
        "Match localuser root,!x\n  Port 10\n",
    },
    "match on what was said before": {
        "config": "Host gpu-a\n  HostName 10.1.2.3\n  User kim\nMatch host 10.1.* user kim\n  Port 5\n"
        "Match host=gpu-a\n  Port 6\n",
    },
    "match exec": {
        "config": 'Match exec "test %h = gpu-a"\n  User a\nMatch !exec "test %n = gpu-a" host *\n  User b\n'
        "Match host nobody exec false\n  User c\n",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_as_ssh_says(tmp_path: Path, name: str) -> None:
    compare(tmp_path, CASES[name])


@pytest.mark.parametrize("seed", range(25))
def test_as_ssh_says_of_whatever_people_write(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    names = ["config", "one", "two", "three", "system"]
    compare(tmp_path, {name: _anything(dice, names[number + 1 : -1]) for number, name in enumerate(names)})


# Files that ssh refuses or takes; ours has to agree. OpenSSH stops at a keyword that it does not know.
KEYWORD_CASES = {
    "a misspelt Host": "Hosst foo\n  HostName 1.2.3.4\n",
    "a keyword of another program": "Host gpu-a\n  UseKeychainn yes\n",
    "in a block of another host": "Host other\n  Nonsense yes\n",
    "ignored": "IgnoreUnknown UseKeychainn,Other*\nUseKeychainn yes\nOtherwise no\nUser kim\n",
    "ignored, in other letters": "ignoreunknown usekeychainn\nHost *\n  USEKEYCHAINN yes\n",
    "not ignored before its line": "Nonsense yes\nIgnoreUnknown Nonsense\n",
    "another one is ignored": "IgnoreUnknown Nonsense\nHosst foo\n  User kim\n",
    "all but one are ignored": "IgnoreUnknown !Hosst,*\nNonsense 1\nHosst foo\n",
    "ignored from an included file on": "Include DIR/more\nNonsense yes\n",
    "obsolete": "Protocol 2\nCipher blowfish\nRSAAuthentication yes\nKeepAlive yes\nUseRoaming no\n",
}


@pytest.mark.parametrize("name", KEYWORD_CASES)
def test_the_same_keywords_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "more").write_text("IgnoreUnknown Nonsense\n")
    (tmp_path / ".ssh").mkdir()
    text = KEYWORD_CASES[name].replace("DIR", str(tmp_path))
    (tmp_path / ".ssh" / "config").write_text(text)
    words = ["ssh", "-F", str(tmp_path / ".ssh" / "config"), "-G", "gpu-a"]
    theirs = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    if theirs.returncode == 0:
        assert ssh_config.load(tmp_path, tmp_path / "none").lookup("gpu-a")
        return
    assert b"Bad configuration option" in theirs.stderr
    with pytest.raises(UsageProblem, match="ssh knows no keyword"):
        ssh_config.load(tmp_path, tmp_path / "none")


def test_no_keyword_of_the_ssh_on_this_machine_is_missing() -> None:
    shown = subprocess.run(["ssh", "-F", "none", "-G", "gpu-a"], capture_output=True, text=True, check=True).stdout
    assert {line.split()[0].lower() for line in shown.splitlines()} - {"host"} <= KEYWORDS


def test_a_keyword_of_a_newer_ssh_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ssh that knows a word of tomorrow says nothing about it; the list does not have it."""
    (tmp_path / "ssh").write_text(
        '#!/bin/sh\ncase "$*" in *tomorrow=x*) exit 0;; esac\n'
        'echo "command-line: line 0: Bad configuration option: $5" >&2; exit 255\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert is_keyword("tomorrow") and not is_keyword("yesterday")


def _anything(dice: random.Random, others: list[str]) -> str:
    patterns = ("*", "gpu-*", "*.work", "gpu-a", "!gpu-a", "10.*", "g?u-a", "far.*")
    lines = []
    for _ in range(dice.randrange(2, 12)):
        some = dice.sample(patterns, dice.randrange(1, 3))
        lines += dice.choices(
            [
                f"Host {' '.join(some)}",
                f"Match host {','.join(some)}",
                f"Match user {dice.choice(('root', 'u1', '!u2,*'))} originalhost {some[0]}",
                dice.choice(("Match final all", "Match all", "Match !final host *", "Match canonical all")),
                f"Include DIR/{dice.choice(others)}" if others else "",
                f"User u{dice.randrange(4)}",
                f"Port {dice.randrange(1, 99)}",
                f"HostName {dice.choice(('far.away', '%h.far', '10.9.9.9'))}",
                f"IdentityFile /k{dice.randrange(4)}",
                f"ProxyJump j{dice.randrange(4)}",
            ],
            weights=(3, 2, 1, 1, 4, 2, 2, 1, 2, 1),
        )
    return "\n".join(lines) + "\n"


def compare(folder: Path, files: dict[str, str]) -> None:
    for name, text in {"system": "", **files}.items():
        (folder / name).write_text(text.replace("DIR", str(folder)))
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "config").write_text((folder / "config").read_text())
    (folder / "both").write_text(f"Include {folder}/config\nInclude {folder}/system\n")
    ours = ssh_config.load(folder, folder / "system")
    for host in HOSTS:
        default, said = ask(Path("/dev/null"), host), ours.lookup(host)
        found = {name: said[name] if name == "identityfile" else [said[name]] for name in ASKED if name in said}
        found = {name: value for name, value in found.items() if value != ["none"]}
        assert {**default, **found} == ask(folder / "both", host), "\n".join(files.values())


def ask(config: Path, host: str) -> dict[str, list[str]]:
    words = ["ssh", "-F", str(config), "-G", host]
    done = subprocess.run(words, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition(" ")
        if name in ASKED and value != "none":
            said.setdefault(name, []).append(value)
    return said
