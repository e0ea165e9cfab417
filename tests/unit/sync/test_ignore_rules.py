"""Which files are ignored: exactly those that git ignores. Git itself is asked."""

import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.sync.walk import read_tree

NAMES = (
    "a",
    "b",
    "ab",
    "a.py",
    "b.py",
    "x.log",
    "data",
    "src",
    "build",
    "a b",
    "é.py",
    "[a]",
    "!a",
    "#a",
    "a*",
    ".a",
    "a\\",
)
WORDS = (
    *NAMES, "*", "**", "?", "*.py", "*.log", "a*", "*a", "a**", "**a", "[ab]", "[!a]", "[^a].py", "[a-c]", "[]a]", "[",
    "[[:alpha:]]", "[[:alnum:].]*", "[[:nope:]]", "[a", "\\a", "\\*", "\\!a", "\\#a", "a\\ b", "?.py", "??.py",
    "[é].py", "*.*", "a?b", "*b*", "[b-a]", "[a-]", "[\\]]", "[[:]", "[!-]", "a\\\\", "***", "a***b", "[a-b-c]",
)  # fmt: skip
FIXED = (
    "*",
    "!*/",
    "!*.py",
    "!.gitignore",
    "!src/",
    "!src/*.py",
    "data/**",
    "!data/**/",
    "!data/**/a.py",
    "/*",
    "!/src",
)


def random_rule(dice: random.Random) -> str:
    if dice.random() < 0.25:
        return dice.choice(FIXED)
    rule = "/".join(dice.choice(WORDS) for _ in range(dice.choice((1, 1, 1, 2, 2, 3))))
    rule = (
        dice.choice(("", "", "", "/", "**/"))
        + rule
        + dice.choice(("", "", "", "/", "/**", "/*", " ", "  ", "\\ ", "\t"))
    )
    return dice.choice(("", "", "", "!")) + rule


def random_file(dice: random.Random) -> bytes:
    lines = [random_rule(dice) for _ in range(dice.randint(1, 5))]
    start = dice.choice((b"", b"", b"", b"\xef\xbb\xbf"))
    return start + dice.choice(("\n", "\n", "\r\n")).join(lines).encode() + dice.choice((b"", b"\n"))


def random_folder(dice: random.Random, root: Path) -> list[Path]:
    """Make some files, and return all folders."""
    folders = [root]
    for _ in range(dice.randint(2, 6)):
        folder = dice.choice(folders) / dice.choice(NAMES)
        folder.mkdir(exist_ok=True)
        folders.append(folder)
    for _ in range(dice.randint(6, 16)):
        path = dice.choice(folders) / dice.choice(NAMES)
        if not path.exists() and not path.is_symlink():
            path.symlink_to("..") if dice.random() < 0.1 else path.write_text("x")
    return list(dict.fromkeys(folders))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, so that the settings of the user who runs the tests do not count."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    return home


def git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True).stdout


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    return folder


def listed_by_git(folder: Path) -> list[str]:
    listed = git(folder, "ls-files", "-co", "--exclude-standard", "-z").split(b"\0")[:-1]
    return sorted(os.fsdecode(name) for name in listed)


def synced(folder: Path) -> list[str]:
    return sorted(path for path, entry in read_tree(folder).entries.items() if entry.sha256 or entry.target)


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def rules(file: Path, lines: Iterable[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("part", range(8))
def test_random_rules_ignore_what_git_ignores(tmp_path: Path, home: Path, part: int) -> None:
    """With rules in folders, above the code folder, in .git/info/exclude and in the user's own file."""
    for seed in range(part * 50, part * 50 + 50):
        dice = random.Random(seed)
        top = repository(tmp_path / f"top{seed}")
        folders = random_folder(dice, top)
        for folder in folders:
            if folder == top or dice.random() < 0.4:
                (folder / ".gitignore").write_bytes(random_file(dice))
        if dice.random() < 0.3:
            (top / ".git" / "info" / "exclude").write_bytes(random_file(dice))
        own = home / ".config" / "git" / "ignore"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_bytes(random_file(dice) if dice.random() < 0.3 else b"")
        shown = {file.relative_to(top): file.read_bytes() for file in top.rglob(".gitignore")}
        assert synced(top) == listed_by_git(top), (seed, shown, own.read_bytes())
        for folder in folders[1:]:
            is_ignored = subprocess.run(["git", "check-ignore", "-q", folder.name], cwd=folder.parent, check=False)
            if is_ignored.returncode:
                assert synced(folder) == listed_by_git(folder), (seed, folder, shown, own.read_bytes())


@pytest.mark.parametrize(
    "lines",
    [
        ["*", "!*/", "!*.py"],
        ["*", "!.gitignore", "!src/", "!src/*.py"],
        ["data/**", "!data/**/", "!data/**/keep.txt"],
    ],
)
def test_a_whitelist_lets_sub_packages_through(tmp_path: Path, lines: list[str]) -> None:
    top = repository(tmp_path / "top")
    write(top, "train.py", "src/m.py", "src/deep/n.py", "data/x/big.bin", "data/x/keep.txt", "notes.txt")
    rules(top / ".gitignore", lines)
    assert "src/m.py" in synced(top)
    assert synced(top) == listed_by_git(top)


def test_the_first_rule_after_a_byte_order_mark_counts(tmp_path: Path) -> None:
    write(tmp_path / "code", "data/big", "train.py")
    (tmp_path / "code" / ".gitignore").write_bytes(b"\xef\xbb\xbfdata/\n")
    assert synced(tmp_path / "code") == [".gitignore", "train.py"]


def test_a_virtual_environment_that_ignores_itself_is_not_sent(tmp_path: Path) -> None:
    """Python 3.13 writes such a file, and no repository is needed for it to count."""
    write(tmp_path / "code", "train.py", ".venv/bin/python")
    rules(tmp_path / "code" / ".venv" / ".gitignore", ["*"])
    assert synced(tmp_path / "code") == ["train.py"]


def test_the_repository_above_the_code_folder_has_rules_too(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    write(top / "exp", "train.py", "data/big", "x.log", "y.tmp", "z.bak")
    rules(top / ".gitignore", ["data/", "/exp/y.tmp"])
    rules(top / ".git" / "info" / "exclude", ["*.bak"])
    own = tmp_path / "own"
    rules(own, ["*.log"])
    git(top, "config", "core.excludesFile", str(own))
    assert synced(top / "exp") == listed_by_git(top / "exp") == ["train.py"]


def test_a_linked_work_tree_has_the_rules_of_its_repository(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    rules(top / ".git" / "info" / "exclude", ["*.bak"])
    write(tmp_path / "linked", "train.py", "z.bak")
    assert synced(tmp_path / "linked") == listed_by_git(tmp_path / "linked") == ["train.py"]


def test_a_project_in_a_home_whose_repository_ignores_all_is_sent(tmp_path: Path) -> None:
    """Dot files are often kept like this."""
    top = repository(tmp_path / "top")
    rules(top / ".gitignore", ["*"])
    write(top / "project", "train.py")
    assert synced(top / "project") == ["train.py"]


def test_without_git_the_files_count_all_the_same(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository(tmp_path / "top")
    rules(top / ".gitignore", ["data/"])
    rules(home / ".config" / "git" / "ignore", ["*.log"])
    write(top / "exp", "train.py", "data/big", "x.log")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert synced(top / "exp") == ["train.py"]


def test_our_own_ignore_file_stands_in_for_gits_of_its_folder(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    rules(top / ".gitignore", ["*.csv"])
    write(top / "exp", "a.csv", "a.log", "sub/b.csv", "sub/b.log", "sub/b.tmp")
    rules(top / "exp" / "sub" / ".gitignore", ["*.tmp"])
    assert synced(top / "exp") == ["a.log", "sub/.gitignore", "sub/b.log"]
    rules(top / "exp" / "sub" / ".hvdockerignore", ["*.log"])
    assert synced(top / "exp") == ["a.log", "sub/.gitignore", "sub/.hvdockerignore", "sub/b.tmp"]
    rules(top / "exp" / ".hvdockerignore", [])
    assert synced(top / "exp") == [
        ".hvdockerignore", "a.csv", "a.log", "sub/.gitignore", "sub/.hvdockerignore", "sub/b.csv", "sub/b.tmp",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [".gitignore", ".hvdockerignore"])
def test_a_link_that_loops_beside_an_ignore_file_is_only_a_link(tmp_path: Path, name: str) -> None:
    rules(tmp_path / "code" / name, ["data/"])
    (tmp_path / "code" / "loop").symlink_to("loop")
    (tmp_path / "code" / "data").symlink_to("/root/nothing/there")
    assert synced(tmp_path / "code") == [name, "data", "loop"]


def test_an_ignore_file_that_leads_in_circles_is_named(tmp_path: Path) -> None:
    (tmp_path / ".hvdockerignore").symlink_to(".hvdockerignore")
    with pytest.raises(UsageProblem, match=r"cannot read .*\.hvdockerignore: Too many levels"):
        read_tree(tmp_path)
