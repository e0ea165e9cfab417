"""Read the git commit and the uncommitted changes of a code folder, and write the files of a recorded commit with its
changes to another folder.

Nothing in the user's repository changes: unlike `git stash`, these functions keep the index and new objects in a
temporary folder. No git hook and no file system monitor runs. If git is missing or refuses a command, the reason is
recorded in the capsule and `train` goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hvdocker.jobs.capsule.capsule import PATCH_MAX_BYTES, GitSeen
from hvdocker.sync.tree import Tree
from hvdocker.units import show_bytes

GIT_TIMEOUT_S = 20.0
# If new files exceed the largest patch by this factor, no patch is tried, however well they compress.
_NEW_FILES_FACTOR = 4
_SETTINGS = ("core.fsmonitor=", "core.hooksPath=/dev/null", "core.untrackedCache=false", "gc.auto=0")
_GITLINK = "160000"


class GitProblem(Exception):
    """A git command failed, took too long or could not be started, or the repository lacks a needed commit or is not
    usable. The message says why."""


@dataclass(frozen=True)
class _Git:
    """Runs git commands in `folder`, one after the other. All of them together have to end before `deadline`, a
    time of the monotonic clock. `variables` are added to the environment of git."""

    folder: Path
    deadline: float
    variables: Mapping[str, str] = field(default_factory=dict)

    def text(self, *words: str) -> str:
        return self.run(*words).decode("utf-8", "surrogateescape").removesuffix("\n")

    def run(self, *words: str, stdin: bytes = b"", most_bytes: int | None = None) -> bytes:
        """Run git with the arguments `words`, such as `rev-parse HEAD`, and return its standard output. Raises
        GitProblem if git fails or the deadline passes. `stdin` is its standard input.

        `most_bytes` limits the output; None means no limit. A longer output is cut to `most_bytes + 1` bytes, by
        which the caller sees that the limit was exceeded."""
        argv = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]
        with tempfile.TemporaryFile() as told:
            done = self._done(argv, stdin, told.fileno())
            told.seek(0)
            out = told.read(-1 if most_bytes is None else most_bytes + 1)
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            said = lines[0].removeprefix("fatal: ") if lines else f"git {words[0]} ended with {done.returncode}"
            raise GitProblem(said)
        return out

    def _done(self, argv: list[str], stdin: bytes, out: int) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        quiet = {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_LITERAL_PATHSPECS": "1",
        }
        try:
            return subprocess.run(
                argv,
                cwd=self.folder,
                env={**kept, **quiet, **self.variables},
                input=stdin,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=max(0.1, self.deadline - time.monotonic()),
                check=False,
            )
        except FileNotFoundError:
            raise GitProblem("there is no git here") from None
        except subprocess.TimeoutExpired:
            raise GitProblem(f"git took longer than {GIT_TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise GitProblem(f"git cannot be run: {error.strerror}") from error


def observe_git(tree: Tree, most_bytes: int = PATCH_MAX_BYTES) -> tuple[GitSeen, bytes]:
    """Return the git state of a code folder, and a patch with the uncommitted changes of the files that are synced.
    `tree` has the synced files of the folder. No patch larger than `most_bytes` is made.

    Never raises: if there is no commit or no patch could be made, `GitSeen.why` says the reason and the patch is
    empty."""
    git = _Git(tree.root, time.monotonic() + GIT_TIMEOUT_S)
    try:
        seen = _commit(git)
    except GitProblem as error:
        return GitSeen(why=str(error)), b""
    try:
        patch = _patch(git, tree, most_bytes)
    except GitProblem as error:
        return replace(seen, is_dirty=True, why=f"no patch: {error}"), b""
    return replace(seen, is_dirty=bool(patch), patch_bytes=len(patch)), patch


def check_out(repository: Path, wanted: GitSeen, patch: bytes, target: Path) -> Path:
    """Restore the code of a job into the folder `target`, for a replay: the files that the commit `wanted.commit` has
    below `wanted.prefix`, with `patch` (the uncommitted changes) applied. Return the folder in `target` that
    corresponds to the folder that was synced. `repository` is any folder of the git repository.

    The files are written from a git index, because `git archive` would leave out files with the attribute
    `export-ignore`. Raises GitProblem if the repository lacks the commit or git fails."""
    finder = _Git(repository, time.monotonic() + GIT_TIMEOUT_S)
    top = _Git(Path(finder.text("rev-parse", "--show-toplevel")), finder.deadline)
    try:
        top.run("cat-file", "-e", f"{wanted.commit}^{{commit}}")
    except GitProblem:
        raise GitProblem(f"{top.folder} does not have the commit {wanted.commit[:12]}") from None
    with _scratch_repository(top) as git:
        git.run("read-tree", wanted.commit)
        if patch and wanted.has_patch:
            git.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
        names = git.run("ls-files", "-z", *(("--", wanted.prefix) if wanted.prefix else ()))
        git.run("checkout-index", "-z", "--stdin", f"--prefix={target}/", stdin=names)
    folder = target / wanted.prefix
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _commit(git: _Git) -> GitSeen:
    try:
        is_work_tree = git.text("rev-parse", "--is-inside-work-tree") == "true"
    except GitProblem as error:
        no_repository = str(error).startswith("not a git repository")
        raise GitProblem("the folder is in no git repository" if no_repository else str(error)) from None
    if not is_work_tree:
        raise GitProblem("the folder is no work tree of its git repository")
    try:
        commit = git.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitProblem:
        raise GitProblem("its git repository has no commit yet") from None
    return GitSeen(commit, _branch(git), git.text("rev-parse", "--show-prefix"))


def _branch(git: _Git) -> str:
    try:
        return git.text("symbolic-ref", "--short", "--quiet", "HEAD")
    except GitProblem:  # detached HEAD
        return ""


def _patch(git: _Git, tree: Tree, most_bytes: int) -> bytes:
    """Return a patch with the uncommitted changes of synced files (`tree`), empty if there are none. Files that
    .hvdockerignore excludes are not in the patch. Raises GitProblem if the patch would be larger than `most_bytes`, or
    if the folder has submodules."""
    with _scratch_repository(git) as own:
        _fill_index(own, Path(own.variables["GIT_INDEX_FILE"]))
        tracked = _tracked(own)
        links = tuple(f"{path}/" for path, mode in tracked.items() if mode == _GITLINK)
        if any(path.startswith(links) for path in tree.files):
            raise GitProblem("the folder has submodules")
        new = sum(entry.size for path, entry in tree.files.items() if path not in tracked)
        if new > _NEW_FILES_FACTOR * most_bytes:
            raise GitProblem(f"files that git does not have are {show_bytes(new)}")
        gone = (path for path in tracked if path not in tree.files and _is_gone(tree.root, path))
        own.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin",
                stdin=_nul_terminated([*tree.files, *gone]))  # fmt: skip
        words = ("diff-index", "--cached", "--binary", "--full-index", "-p", "--no-renames", "HEAD")
        patch = own.run(*words, most_bytes=most_bytes)
    if len(patch) > most_bytes:
        raise GitProblem(f"the changes are more than {show_bytes(most_bytes)}")
    return patch


def _fill_index(git: _Git, index: Path) -> None:
    """Fill the temporary index (the file `index`, which `git` is set up to use) with the files of HEAD.

    The index starts as a copy of the user's index, whose file stats tell git which files are unchanged and need not be
    read again. The copy keeps the modification time of the user's index: git needs it to detect files that changed
    within the same clock tick."""
    real = git.folder / git.text("rev-parse", "--git-dir") / "index"
    if real.is_file():
        shutil.copy2(real, index)
    git.run("read-tree", "--reset", "HEAD")


def _tracked(git: _Git) -> dict[str, str]:
    """Return the mode (such as `100644`) of every file below `git.folder` that git tracks, by path."""
    listed = git.run("ls-files", "-z", "--stage").decode("utf-8", "surrogateescape").split("\0")[:-1]
    return {path: about.split(" ")[0] for about, _, path in (line.partition("\t") for line in listed)}


def _is_gone(root: Path, path: str) -> bool:
    return not os.path.lexists(root / path)


def _nul_terminated(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


@contextmanager
def _scratch_repository(git: _Git) -> Iterator[_Git]:
    """Yield a `_Git` for the same repository that writes its index and new objects into a temporary folder, so
    that the user's repository does not change."""
    objects = git.folder / git.text("rev-parse", "--git-path", "objects")
    with tempfile.TemporaryDirectory(prefix="hvdocker-git-") as folder:
        own = Path(folder) / "objects"
        own.mkdir()
        variables = {
            "GIT_INDEX_FILE": str(Path(folder) / "index"),
            "GIT_OBJECT_DIRECTORY": str(own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted_path(str(objects)),
        }
        yield replace(git, variables=variables)


def _quoted_path(path: str) -> str:
    """Return the path in quotes, for GIT_ALTERNATE_OBJECT_DIRECTORIES: the value is a list separated by colons, and a
    path may contain a colon."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
