"""Reads the ignore files that apply to a code folder.

In each folder `.hvdockerignore` is read, or `.gitignore` if there is no `.hvdockerignore`. If the code folder is in a
git work tree, the ignore files of the folders above it, `.git/info/exclude` and the file that git's setting
`core.excludesFile` names apply too, as in git. A `.hvdockerignore` in the code folder itself switches these off."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hvdocker.sync.file_errors import unreadable_error
from hvdocker.sync.ignore_rules import RuleFile, is_ignored, parse_rules

OWN_IGNORE_FILE = ".hvdockerignore"
GIT_IGNORE_FILE = ".gitignore"
_GIT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class IgnoreScope:
    """The ignore files that apply in one folder, those with the highest precedence first.

    `prefix` is the path of the code folder below the top of its git work tree, with a slash at its end. It is empty if
    the code folder is the top, and if the ignore files of a work tree do not apply to it."""

    files: tuple[RuleFile, ...] = ()
    prefix: bytes = b""

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Return whether the rules of this scope ignore a file or folder. `path` is relative to the code folder, such
        as `data/train.csv`; `is_folder` says whether it is a folder.

        Only the path itself is compared with the rules, and not the folders above it: the caller does not enter an
        ignored folder."""
        return bool(self.files) and is_ignored(self.files, self.prefix + os.fsencode(path), is_folder)

    def entering(self, folder: str, path: str, names: Collection[str]) -> IgnoreScope:
        """Return the scope (the ignore files that apply) inside a folder: this scope, and the folder's own ignore file
        if it has one. Raise UsageProblem if that file cannot be read.

        `folder` is the full path of that folder. `path` is its path below the code folder with a slash at its end,
        empty for the code folder itself. `names` are the names of the files and folders in it."""
        try:
            rules = _rules_in(folder, self.prefix + os.fsencode(path), names)
        except OSError as error:
            raise unreadable_error(error, folder) from error
        return IgnoreScope((rules, *self.files), self.prefix) if rules else self


def scope_above(root: Path) -> IgnoreScope:
    """Return the ignore files that apply to the code folder `root` from outside: those of its git work tree and of
    git's settings.

    The scope is empty if `root` is in no work tree or has a `.hvdockerignore`. It is also empty if the work tree
    ignores the code folder itself, because the code then does not belong to that repository. An example is a project
    in a home folder that is a work tree and whose `.gitignore` ignores everything but dot files."""
    folder = root.resolve()
    top = next((above for above in (folder, *folder.parents) if _git_folder(above)), None)
    if top is None or os.path.lexists(root / OWN_IGNORE_FILE):
        return IgnoreScope()
    files: list[RuleFile] = []
    for file in _git_rule_files(top):
        # As in git, a rule file outside of the code folder that cannot be read does not count.
        with contextlib.suppress(OSError):
            files += [rules] if (rules := _read_rules(file, b"")) else []
    path = ""
    for name in folder.relative_to(top).parts:
        with contextlib.suppress(OSError):
            rules = _rules_in(os.fspath(top / path), os.fsencode(path), (OWN_IGNORE_FILE, GIT_IGNORE_FILE))
            files = [rules, *files] if rules else files
        path += name
        if is_ignored(files, os.fsencode(path), is_folder=True):
            return IgnoreScope()
        path += "/"
    return IgnoreScope(tuple(files), os.fsencode(path))


def _rules_in(folder: str, path: bytes, names: Collection[str]) -> RuleFile | None:
    """Return the rules of the ignore file in `folder`, a full path. Return None if the folder has no ignore file.
    `.hvdockerignore` is used instead of `.gitignore` if both exist. As in git, a `.gitignore` that is a symlink is not
    read.

    `path` is the path of the same folder below the top of the git work tree (or below the code folder, if the rules of
    a work tree do not apply), with a slash at its end. `names` are the names of the files and folders in it."""
    if OWN_IGNORE_FILE in names and (rules := _read_rules(Path(folder, OWN_IGNORE_FILE), path)):
        return rules
    file = Path(folder, GIT_IGNORE_FILE)
    return _read_rules(file, path) if GIT_IGNORE_FILE in names and not file.is_symlink() else None


def _read_rules(file: Path, folder: bytes) -> RuleFile | None:
    """Return the rules in the ignore file `file`, or None if there is no such file.

    The rules are about the paths below `folder`. That is a path below the top of the git work tree (or below the code
    folder, if the rules of a work tree do not apply), with a slash at its end."""
    try:
        return RuleFile(parse_rules(file.read_bytes()), folder)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _git_folder(folder: Path) -> Path | None:
    """Return the folder with git's data (usually `.git`) if `folder` is the top of a work tree, else None.

    A linked work tree (`git worktree add`) has a file `.git` with the path of its own data, which in turn names the
    folder that all work trees of the repository share. That shared folder is returned."""
    try:
        data = folder / ".git"
        if data.is_file():
            data = folder / data.read_text(encoding="utf-8", errors="surrogateescape").partition("gitdir: ")[2].strip()
        if not (data / "HEAD").exists():
            return None
        shared = data / "commondir"
        return data / shared.read_text(encoding="utf-8", errors="surrogateescape").strip() if shared.exists() else data
    except OSError:  # no permission to look there: then its repository does not count
        return None


def _git_rule_files(top: Path) -> list[Path]:
    """Return the paths of the two ignore files that apply to the whole work tree `top`: `info/exclude` in git's data
    folder, which has precedence, and then the user's own ignore file. The files may be missing."""
    data = _git_folder(top)
    return [*([data / "info" / "exclude"] if data else []), top / _excludes_file(top)]


def _excludes_file(top: Path) -> str:
    """Return the path of the user's own ignore file, which git's setting `core.excludesFile` names in the work tree
    with the top folder `top`. Without git or the setting, return git's default."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "config", "--type=path", "--get", "core.excludesFile"]
    try:
        done = subprocess.run(words, cwd=top, env=own, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False)
        if done.returncode == 0:
            return os.fsdecode(done.stdout.removesuffix(b"\n"))
    except (OSError, subprocess.TimeoutExpired):
        pass
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return os.fspath(Path(base).expanduser() / "git" / "ignore")
