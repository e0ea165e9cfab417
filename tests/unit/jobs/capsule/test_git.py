"""What git has of a folder, and the same code made from it again; with a real git."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hvdocker.jobs.capsule.capsule import GitSeen
from hvdocker.jobs.capsule.git import GitProblem, check_out, observe_git
from hvdocker.sync.walk import read_tree


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=ada", "-c", "user.email=ada@lab", "-c", "protocol.file.allow=always")
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def _nobodys_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder `code` with a script, in a repository that has more."""
    root = tmp_path / "project"
    (root / "code").mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch", "main")
    (root / "code" / "train.py").write_text("print(1)\n")
    (root / "code" / "old.py").write_text("print(0)")
    (root / "notes.txt").write_text("of mine\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a beginning")
    return root


def head(repository: Path) -> str:
    return git(repository, "rev-parse", "HEAD").strip()


def changed(repository: Path) -> Path:
    """Files changed, removed, new, staged, binary, executable, linked and oddly named."""
    code = repository / "code"
    (code / "train.py").write_text("print(2)\n")
    (code / "old.py").unlink()
    (code / "staged.py").write_text("staged\n")
    git(repository, "add", "code/staged.py")
    (code / "bytes.bin").write_bytes(bytes(range(256)))
    (code / "näme\twith\nall").write_text("x")
    (code / "run.sh").write_text("#!/bin/sh\n")
    (code / "run.sh").chmod(0o755)
    (code / "link").symlink_to("train.py")
    return code


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_clean_folder_has_a_commit_and_no_patch(repository: Path) -> None:
    seen = GitSeen(head(repository), "main", "code/")
    assert observe_git(read_tree(repository / "code")) == (seen, b"")
    assert observe_git(read_tree(repository)) == (GitSeen(head(repository), "main", ""), b"")


def test_commit_and_patch_make_the_very_code_again(repository: Path, tmp_path: Path) -> None:
    code = changed(repository)
    (repository / "notes.txt").write_text("changed, and not synced\n")
    before = everything(repository / ".git")
    tree = read_tree(code)
    seen, patch = observe_git(tree)
    assert everything(repository / ".git") == before, "nothing in the person's repository changes"
    assert seen == GitSeen(head(repository), "main", "code/", True, len(patch))
    assert b"notes.txt" not in patch
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "later")
    before = everything(repository / ".git")
    folder = check_out(code, seen, patch, tmp_path / "then")
    assert folder == tmp_path / "then" / "code"
    assert read_tree(folder).hash == tree.hash
    assert everything(repository / ".git") == before


def test_a_change_right_after_the_commit_is_seen(repository: Path) -> None:
    """Of the same size, within the same tick of the clock: the index cannot tell by how the file looks."""
    (repository / "code" / "train.py").write_text("print(9)\n")
    assert b"+print(9)" in observe_git(read_tree(repository / "code"))[1]


def test_only_what_is_synced_is_in_the_patch(repository: Path, tmp_path: Path) -> None:
    """Also where git ignores it; and what .hvdockerignore leaves out stays here."""
    code = repository / "code"
    (code / ".gitignore").write_text("weights.bin\n")
    (code / ".hvdockerignore").write_text("secret.env\nold.py\n")
    (code / "weights.bin").write_bytes(b"12")
    (code / "secret.env").write_text("TOKEN=hunter2\n")
    (code / "old.py").write_text("TOKEN=hunter2\n")
    tree = read_tree(code)
    seen, patch = observe_git(tree)
    assert b"hunter2" not in patch and b"weights.bin" in patch
    assert read_tree(check_out(code, seen, patch, tmp_path / "then")).hash == tree.hash


def test_a_caller_inside_of_another_repository_does_not_matter(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = read_tree(repository / "code")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert observe_git(tree)[0].branch == "main"


def test_hooks_and_monitors_of_the_repository_are_not_run(repository: Path) -> None:
    code = changed(repository)
    trap = repository / ".git" / "hooks" / "post-index-change"
    trap.parent.mkdir(exist_ok=True)
    trap.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    trap.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(trap))
    assert observe_git(read_tree(code))[1]
    assert not (repository / "ran").exists()


def test_a_detached_head_and_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(tmp_path / "beside"))
    code = tmp_path / "beside" / "code"
    (code / "train.py").write_text("print(3)\n")
    tree = read_tree(code)
    seen, patch = observe_git(tree)
    assert (seen.commit, seen.branch, seen.prefix) == (head(repository), "", "code/")
    assert read_tree(check_out(repository, seen, patch, tmp_path / "then")).hash == tree.hash


def test_a_conflict_that_is_not_resolved_is_code_like_any_other(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "other")
    (repository / "code" / "train.py").write_text("theirs\n")
    git(repository, "commit", "--quiet", "--all", "--message", "theirs")
    git(repository, "checkout", "--quiet", "main")
    (repository / "code" / "train.py").write_text("ours\n")
    git(repository, "commit", "--quiet", "--all", "--message", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "other")
    tree = read_tree(repository / "code")
    seen, patch = observe_git(tree)
    assert read_tree(check_out(repository, seen, patch, tmp_path / "then")).hash == tree.hash


def test_code_in_submodules_is_not_kept(repository: Path, tmp_path: Path) -> None:
    shutil.copytree(repository, tmp_path / "library")
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "library"), "code/library")
    git(repository, "commit", "--quiet", "--message", "with a library")
    seen, patch = observe_git(read_tree(repository / "code"))
    assert (seen.is_dirty, seen.why, patch) == (True, "no patch: the folder has submodules", b"")


def test_where_there_is_nothing_to_be_had_the_reason_is_told(tmp_path: Path, repository: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    assert observe_git(read_tree(outside)) == (GitSeen(why="the folder is in no git repository"), b"")
    git(outside, "init", "--quiet")
    assert observe_git(read_tree(outside)) == (GitSeen(why="its git repository has no commit yet"), b"")
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(bare))
    reason = "the folder is no work tree of its git repository"
    assert observe_git(read_tree(bare)) == (GitSeen(why=reason), b"")


def test_without_a_git_there_is_none(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert observe_git(read_tree(repository / "code")) == (GitSeen(why="there is no git here"), b"")


def test_a_repository_that_git_does_not_trust_is_no_error(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stand-in that says what git says about another user's folder."""
    said = f"fatal: detected dubious ownership in repository at '{repository}'"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 128\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert observe_git(read_tree(repository))[0].why == said.removeprefix("fatal: ")


def test_changes_that_are_too_large_are_not_kept(repository: Path) -> None:
    tree = read_tree(changed(repository))
    seen, patch = observe_git(tree, 200)
    assert (seen.why, seen.patch_bytes, patch) == ("no patch: the changes are more than 200 B", 0, b"")
    assert observe_git(tree, 10)[0].why == "no patch: files that git does not have are 274 B"


def test_a_repository_without_the_commit_is_named(repository: Path, tmp_path: Path) -> None:
    wanted = GitSeen("a" * 40)
    with pytest.raises(GitProblem, match="does not have the commit aaaaaaaaaaaa"):
        check_out(repository / "code", wanted, b"", tmp_path / "then")
    with pytest.raises(GitProblem, match="not a git repository"):
        check_out(tmp_path, wanted, b"", tmp_path / "then")
