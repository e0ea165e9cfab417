"""Mistakes of a first hour with hvdocker: what was typed, the exit code, and the words of the answer.

No host is contacted: each mistake is noticed before."""

import re
from pathlib import Path

import pytest

from hvdocker.cli.job_words import script_and_flags
from hvdocker.cli.main import main, split_at_dashes
from hvdocker.cli.verb_setup import Invocation
from tests.unit.cli.test_help import command_of

SUGGESTED = re.compile(r"hvdocker (train|run|exec) (?!-h|-d)[^;\n]+")

FILES = {
    "train.py": "",
    "good.yaml": "cluster: lab\nhosts: [127.0.0.1]\n",
    "other.yaml": "cluster: other\nhosts: [127.0.0.1]\n",
    "tab.yaml": "hosts:\n\t- a\n",
    "indent.yaml": "hosts:\n - a\n  - b: c\n",
    "password.yaml": "ssh: {password: x}\nhosts: [a]\n",
    "keys.yaml": "cluser: a\nhots: [b]\n",
    "far.yaml": "timeout: 3\nhosts: [a]\n",
    "hostfile": "# mpi\na slots=4\nb slots=2 max_slots=8\n",
    "hosts.ini": "[gpus]\ngpu-a ansible_host=10.0.0.1\n",
    "ansible.yaml": "all:\n  hosts:\n    a:\n",
    "yml/inventory.yml": "hosts: [a]\n",
    "sizes.yaml": "gpus: {busy: 500}\nshm: 2000000\nhosts: [a]\n",
}

# What was typed → exit code, and words of the answer.
MISTAKES: dict[str, tuple[int, str]] = {
    # verbs
    "trian": (2, "there is no verb 'trian'\n  → did you mean: hvdocker train\n"),
    "upp": (2, "→ did you mean: hvdocker up\n"),
    "qqq": (2, "there is no verb 'qqq'\n  → hvdocker -h lists the verbs\n"),
    "ps": (2, "→ did you mean: hvdocker status\n"),
    "destroy -y": (2, "→ did you mean: hvdocker down -y\n"),
    "rm good.yaml": (2, "→ did you mean: hvdocker down good.yaml\n"),
    "submit train.py -np 2": (2, "→ did you mean: hvdocker train train.py -np 2\n"),
    "submit train.py -- --lr 3": (2, "→ did you mean: hvdocker train train.py -- --lr 3\n"),
    "image lss": (2, "→ did you mean: hvdocker image ls\n"),
    "keys ps": (2, "there is no verb 'ps'\n  → hvdocker keys -h lists the verbs\n"),
    "help nope": (2, "there is no verb 'nope'"),
    "help image nope": (2, "there is no verb 'nope'\n  → hvdocker image -h lists the verbs\n"),
    "help image lss": (2, "there is no verb 'lss'\n  → did you mean: hvdocker image ls\n"),
    # names that no file can have
    f"up {'a' * 300}": (2, "File name too long\n  → name another file or folder\n"),
    f"demo {'a' * 300}": (2, "File name too long\n"),
    f"init {'a' * 300}": (2, "File name too long\n"),
    f"train good.yaml train.py --workdir {'a' * 300}": (2, "File name too long\n"),
    f"image build --wheelhouse {'a' * 300}": (2, "File name too long\n"),
    # flags
    "up --nope": (2, "there is no flag --nope\n  → see hvdocker up -h\n"),
    "up --dryrun": (2, "did you mean --dry-run?"),
    "down --forse": (2, "did you mean --force?"),
    "up --local": (2, "--local needs a value: --local N\n"),
    "up --quiet=3": (2, "--quiet takes no value\n"),
    "up a b": (2, "hvdocker up does not take 'b'\n"),
    "logs --tail four": (2, "-n should be an integer of at least 0, got four\n"),
    "down --lock-wait x": (2, "--lock-wait should be a number of at least 0, got x\n"),
    "replay": (2, "hvdocker replay needs JOB\n"),
    "diff a": (2, "hvdocker diff needs JOB2\n"),
    "exec nvidia-smi -L": (2, "what should be run goes after --\n  → hvdocker exec -- nvidia-smi -L\n"),
    "exec --hosst a -- x": (2, "there is no flag --hosst\n  → did you mean --host? see hvdocker exec -h\n"),
    "exec nvidia-smi": (2, "what should be run goes after --\n  → hvdocker exec -- nvidia-smi\n"),
    "exec --host a nvidia-smi -L": (2, "→ hvdocker exec --host a -- nvidia-smi -L\n"),
    "exec good.yaml --cluster x free": (2, "→ hvdocker exec good.yaml --cluster x -- free\n"),
    "exec -i good.yaml": (2, "→ hvdocker exec -i good.yaml -- nvidia-smi -L\n"),
    "exec": (2, "→ hvdocker exec -- nvidia-smi -L\n"),
    # numbers
    "train good.yaml train.py -np four": (2, "-np should be an integer, got four\n"),
    "train good.yaml train.py -np 0": (2, "-np should be at least 1, got 0\n"),
    "train good.yaml train.py -np -3": (2, "-np should be at least 1, got -3\n"),
    "train good.yaml train.py -np 100000000000000000000": (2, "-np should be at most 1000000, got 1000000"),
    "train -n 4 train.py": (2, "hvdocker train -np 4 train.py;"),
    "train train.py -np2": (2, "hvdocker train train.py -np 2\n"),
    "train --nproc 4 train.py": (2, "hvdocker train -np 4 train.py;"),
    "train train.py --gpus 4 -- --lr 3": (2, "hvdocker train train.py -np 4 -- --lr 3;"),
    # the script and its arguments
    "train train.py --epochs 3": (2, "there is no flag --epochs\n  → the script's own arguments go after --: "
                                     "hvdocker train train.py -- --epochs 3\n"),
    "train train.py --epochs 3 -np 4 -- x": (2, "hvdocker train train.py -np 4 -- --epochs 3 x\n"),
    "train -m pkg.mod --lr 3": (2, "hvdocker train -m pkg.mod -- --lr 3\n"),
    "train --workdr x train.py": (2, "did you mean --workdir? hvdocker train --workdir x train.py;"),
    "train train.py --max-restart=3": (2, "did you mean --max-restarts? hvdocker train train.py --max-restarts 3;"),
    "train train.py --config x.yaml": (2, "hvdocker train train.py -- --config x.yaml\n"),
    "train -qn 4 train.py": (2, "there is no flag -n\n  → did you mean -np? hvdocker train -q -np 4 train.py;"),
    "train -nq 4 train.py": (2, "there is no flag -n\n  → did you mean -np? hvdocker train -q -np 4 train.py;"),
    "train --lr 0.1 train.py": (2, "hvdocker train train.py -- --lr 0.1\n"),
    "train --lr 0.1 run.sh": (2, "hvdocker train run.sh -- --lr 0.1\n"),
    "train --config x.yaml train.py": (2, "hvdocker train train.py -- --config x.yaml\n"),
    "train --resume train.py": (2, "hvdocker train train.py -- --resume\n"),
    "train --nproc 4 train.py --epochs 3": (2, "did you mean -np? hvdocker train -np 4 train.py -- --epochs 3;"),
    "train --gpus all train.py": (2, "did you mean -np? see hvdocker train -h\n"),
    "train --np 4 --nproc 3 train.py": (2, "go after --: hvdocker train --np 4 train.py -- --nproc 3\n"),
    "train --nproc": (2, "did you mean -np? see hvdocker train -h\n"),
    "train -np 2 --gpus 3 train.py": (2, "hvdocker train -np 2 train.py -- --gpus 3\n"),
    "train --frobnicate": (2, "there is no flag --frobnicate\n  → the script's own arguments go after --; "
                              "see hvdocker train -h\n"),
    "train --lr 3 -- ./prog": (2, "the script's own arguments go after --; see hvdocker train -h\n"),
    "train train.py --image x": (2, "there is no flag --image: it is one of hvdocker up\n  → the script's own "
                                    "arguments go after --: hvdocker train train.py -- --image x\n"),
    "run train.py --cluster x": (2, "there is no flag --cluster: it is one of hvdocker up and hvdocker train\n"),
    "train train.py extra": (2, "what is 'extra'?\n  → the script's own arguments go after --: "
                                "hvdocker train train.py -- extra\n"),
    "train python train.py": (2, "hvdocker calls python itself: hvdocker train train.py\n"),
    "train python3 train.py --lr 3": (2, "hvdocker train train.py -- --lr 3\n"),
    "train python -u train.py 7": (2, "hvdocker calls python itself: hvdocker train train.py -- 7\n"),
    "train python -m pkg.mod --lr 3": (2, "hvdocker calls python itself: hvdocker train -m pkg.mod -- --lr 3\n"),
    "train -np 2 python -c pass": (2, "a command goes after --: hvdocker train -np 2 -- python -c pass\n"),
    "train good.yaml train.py x.yaml": (2, "what is 'x.yaml'?\n  → the script's own arguments go after --: "
                                           "hvdocker train good.yaml train.py -- x.yaml\n"),
    "run train.py x.yaml -i good.yaml": (2, "hvdocker run train.py -i good.yaml -- x.yaml\n"),
    "run train.py good.yaml": (2, "the inventory comes first: hvdocker run good.yaml train.py\n"),
    "run good.yaml -d train.py": (2, "there is no flag -d: `run` waits for the end of the job"),
    "run good.yaml": (2, "nothing to run\n  → name a script (train.py), a module (-m pkg.mod) or"),
    # where
    "train good.yaml train.py -H nohost:2": (2, "-H names 'nohost', not in the inventory\n  → hosts are 127.0.0.1\n"),
    "train good.yaml train.py -H b:x": (2, "-H should look like a:2,b:1, got 'b:x'\n"),
    "train good.yaml train.py --include nohost": (2, "--include names 'nohost', not in the inventory\n"),
    "train good.yaml train.py --hosts a:2,b:1": (2, "did you mean --place? "
                                                    "hvdocker train good.yaml train.py --place a:2,b:1;"),
    "train --hosts a,b good.yaml train.py": (2, "did you mean --include? "
                                                "hvdocker train --include a,b good.yaml train.py;"),
    "train --hostfile good.yaml train.py": (2, "did you mean -i? hvdocker train -i good.yaml train.py;"),
    "up good.yaml --place b:x": (2, "-H should look like a:2,b:1, got 'b:x'\n"),
    # which inventory
    "up": (2, "there is no cluster here"),
    "up inventory.yaml": (2, "→ check the path, or write one: hvdocker init\n"),
    "up yml/inventory.yaml": (2, "→ there is inventory.yml beside it\n"),
    "up host1": (2, "→ if these are hosts: hvdocker up --hosts host1; else"),
    "up good.yaml -i other.yaml": (2, "an inventory and -i exclude each other: good.yaml, -i other.yaml\n"),
    "down good.yaml -i other.yaml": (2, "an inventory and -i exclude each other"),
    "train good.yaml train.py --include ,": (2, "--include names no host\n"),
    "init --hosts ,": (2, "--hosts names no host\n"),
    "up --hosts ,,,": (2, "--hosts names no host\n"),
    "up --hosts a,b,a": (2, "--hosts names 'a' more than once\n  → name each host once\n"),
    "up --local 0": (2, "--local should be between 1 and 64, got 0\n"),
    "up --hosts a:2222": (2, "--hosts has 1 problem\n    a host should be a host name or an address; with a port only"),
    "up --hosts $(x)": (2, "--hosts has 1 problem\n    a host should be"),
    # what is in it
    "config tab.yaml": (2, "line 2: not YAML: a tab; YAML wants spaces: \\x09- a\n"),
    "config indent.yaml": (2, "line 3: not YAML: wrong indentation, or a second `:` in a line:   - b: c\n"),
    "config password.yaml": (2, "unknown key; hvdocker logs in with keys only; copy yours with ssh-copy-id\n"),
    "config keys.yaml": (2, "hots (line 2): unknown key; did you mean `hosts`?\n"),
    "config far.yaml": (2, "timeout (line 1): unknown key; known are "),
    "config hostfile": (2, "hostfile looks like a hostfile, not an inventory\n  → write one: hvdocker init --from "),
    "up hosts.ini": (2, "looks like an Ansible inventory, not an inventory\n"),
    "status ansible.yaml": (2, "looks like an Ansible inventory, not an inventory\n"),
    "init --from train.py": (2, "train.py is a Python program, not a list of hosts\n  → --from reads a hostfile"),
    "init --from tab.yaml": (2, "is neither a hostfile nor an Ansible inventory\n    no host: line 1: hosts:\n"),
    "init --from good.yaml": (2, "good.yaml is an inventory of hvdocker, not a list of hosts\n"),
    "init hosts.ini --from ./hosts.ini --force": (2, "hosts.ini would be written over: it is the file behind"),
    "init --from link --force hosts.ini": (2, "hosts.ini would be written over: it is the file behind"),
    "config sizes.yaml": (2, "gpus/busy (line 1): 500 bytes? write 500MB\n    shm (line 2): 2000000 means bytes"),
    "config /dev/fd/99": (2, "→ the pipe of <(…) is closed here, as with sudo: write the inventory to a file\n"),
    "init --from nope": (2, "there is no file "),
}  # fmt: skip


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_with_what_to_do(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HVDOCKER_INVENTORY", raising=False)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "link").symlink_to("hosts.ini")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    told = capsys.readouterr()
    code, words = MISTAKES[line]
    assert (ended.value.code, told.out) == (code, "")
    assert told.err.startswith("error: ") and words in told.err
    assert "did not foresee" not in told.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("line", [line for line, (_, words) in MISTAKES.items() if SUGGESTED.search(words)])
def test_a_suggested_line_can_be_parsed(line: str) -> None:
    found = SUGGESTED.search(MISTAKES[line][1])
    assert found
    own, rest = split_at_dashes(found[0].split()[1:])
    context = command_of((own[0],)).make_context(own[0], own[1:], obj=Invocation(rest))
    if own[0] == "exec":
        assert context.args == [] and rest
    else:
        script_and_flags(context, context.params["script"])


EMPTY = ["down --cluster", "up --hosts", "up --local", "up --image", "up --keep", "train --include", "train --exclude",
         "train --gpu", "train -H", "train -m", "train --env", "run --place", "train --workdir", "train -i", "stop",
         "logs", "replay", "diff a", "demo", "init", "init --hosts", "image check", "image push", "image build --from",
         "image build --on", "exec --host", "ssh", "lock release", "status", "help", "completion"]  # fmt: skip


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize("line", EMPTY)
def test_an_unset_variable_does_not_mean_the_default(
    line: str, empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flag = line.split()[-1]
    lines = [[*line.split(), empty], [*line.split()[:-1], f"{flag}={empty}"] if flag.startswith("--") else None]
    for words in filter(None, lines):
        with pytest.raises(SystemExit) as ended:
            main(words)
        told = capsys.readouterr().err
        assert ended.value.code == 2 and "is a variable of the shell not set? see hvdocker" in told
        assert (f"{flag} needs a value" if flag.startswith("-") else "does not take an empty argument") in told


@pytest.mark.parametrize("line", ["down -qi broken.yaml", "up -np 2 -q broken.yaml", "up --np=2 broken.yaml -q",
                                  "train -H a:1 broken.yaml train.py", "logs -n 5 broken.yaml"])  # fmt: skip
def test_the_value_of_a_flag_is_not_taken_for_the_inventory(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    (tmp_path / "broken.yaml").write_text("hosts: []\n")
    with pytest.raises(SystemExit):
        main(line.split())
    assert "hosts (line 1): should be a list of at least one host" in capsys.readouterr().err


INVENTORY_VERBS = [
    "config", "doctor", "up", "status", "gpus", "train", "run", "jobs", "logs", "attach", "stop", "fetch", "replay job",
    "diff a b", "exec -- x", "ssh host", "down", "gc", "keys rotate", "lock status", "lock release", "image push",
    "image ls",
]  # fmt: skip


@pytest.mark.parametrize("verb", INVENTORY_VERBS)
def test_every_verb_takes_the_inventory_as_first_argument(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read: what is wrong in it is told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    (tmp_path / "broken.yaml").write_text("hosts: []\n")
    name, *others = verb.split()
    words = [name, *([others.pop(0)] if name in ("keys", "lock", "image") else []), "broken.yaml", *others]
    with pytest.raises(SystemExit) as ended:
        main([*words, *(["train.py"] if name in ("train", "run") else [])])
    assert ended.value.code == 2
    assert "hosts (line 1): should be a list of at least one host" in capsys.readouterr().err
