"""The command that the ranks run: a script, a module or any command. Contacts no host."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hvdocker import names
from hvdocker.errors import UsageProblem
from hvdocker.inventory.locate import at_home


@dataclass(frozen=True)
class UserCommand:
    """The command that every rank runs, and the folder with its code.

    `source` is the folder that is synced to the hosts. `stem` becomes part of the job's id: `train` for train.py.
    `display_name` is what the user is shown: the script as a path relative to `source`, the name of the module, or the
    first word of the command. `is_script` is False for a module (`-m`) and for any other command."""

    command: tuple[str, ...]
    source: Path
    stem: str
    display_name: str = ""
    is_script: bool = False

    def refuse_unsent_script(self, sent: Container[str]) -> None:
        """Raise UsageProblem if the script is not among `sent`, the paths (relative to `source`) that are sent to the
        hosts. Do nothing if the command is no script."""
        if self.is_script and self.display_name not in sent:
            raise UsageProblem(
                f"the script {self.display_name} is not sent to the hosts",
                lines=["an ignore file leaves it out, or it lies in .git, .hvdocker or __pycache__"],
                fix=f"find the rule: git -C {self.source} check-ignore -v --no-index {self.display_name}; "
                "or write a .hvdockerignore beside it, which is read instead",
            )


def user_command(
    cwd: Path, script: str | None, module: str | None, rest: tuple[str, ...], workdir: Path | None
) -> UserCommand:
    """Return the command that runs `script` or `module` with the arguments `rest`.

    If neither is given, `rest` itself is the command. `workdir` is the folder to sync; by default the script's folder,
    or `cwd`. Raises UsageProblem if both are given, if there is nothing to run, if the script is missing, a notebook or
    outside of `workdir`, or if the folder to sync is missing, `/`, the user's home or a folder that hvdocker made."""
    if script and module:
        raise UsageProblem("a script and -m exclude each other")
    if module:
        stem = module.rsplit(".", 1)[-1]
        return UserCommand(("python", "-m", module, *rest), _folder(cwd, workdir), stem, module)
    if script:
        return _script(cwd, script, rest, workdir)
    if not rest:
        raise UsageProblem(
            "nothing to run", fix="name a script (train.py), a module (-m pkg.mod) or a command (-- any command)"
        )
    return UserCommand(rest, _folder(cwd, workdir), PurePosixPath(rest[0]).name, rest[0])


def _script(cwd: Path, script: str, rest: tuple[str, ...], workdir: Path | None) -> UserCommand:
    path = (cwd / at_home(Path(script))).resolve()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        raise UsageProblem(f"the script {script} {what}", fix="name a Python file; -m runs a module, -- any command")
    if path.suffix == ".ipynb":
        raise UsageProblem(f"{script} is a notebook, not a script", fix=f"jupyter nbconvert --to script {script}")
    source = _folder(cwd, workdir) if workdir else _folder(path.parent, None)
    if not path.is_relative_to(source):
        raise UsageProblem(f"{script} lies outside of --workdir {workdir}", fix="choose a folder that contains it")
    named = path.relative_to(source).as_posix()
    inside = f"{names.CODE_MOUNT}/{named}"
    runner = ("python",) if path.suffix == ".py" else ()
    return UserCommand((*runner, inside, *rest), source, path.stem, named, is_script=True)


def _folder(cwd: Path, workdir: Path | None) -> Path:
    folder = (cwd / at_home(workdir)).resolve() if workdir else cwd.resolve()
    if not folder.is_dir():
        raise UsageProblem(f"--workdir {workdir} is not a folder")
    if folder in (Path("/"), Path.home().resolve()):
        raise UsageProblem(
            f"refusing to sync all of {folder} to every host",
            fix="put the script into a folder of its own, or name one with --workdir",
        )
    if copy := _host_folder(folder):
        raise UsageProblem(
            f"{folder} lies in {copy}, where hvdocker keeps the copy for this host: `down` would remove it",
            fix="copy the code to a folder of its own, and train from there",
        )
    return folder


def _host_folder(folder: Path) -> Path | None:
    """Return the folder `~/.hvdocker/CLUSTER/HOST` that contains `folder`, or None if no such folder does. Such a
    folder exists if this machine is a host of a cluster."""
    clusters = Path.home().resolve() / ".hvdocker"
    inside = (one for one in (folder, *folder.parents) if one.parent.parent == clusters)
    return next((one for one in inside if (one / "members").is_file()), None)
