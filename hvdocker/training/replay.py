"""`replay`: run a job again from its capsule, with the same code, command, environment and slot request.

A capsule that was read from a host is not trusted: a replay does not read secrets, variables or files of the
controller only because such a capsule names them. Otherwise a compromised host could obtain them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import Capsule
from hvdocker.jobs.capsule.store import StoredCapsule, find_capsules
from hvdocker.launchers import named
from hvdocker.secret import SecretSource, parse_secrets
from hvdocker.training.inputs.request import TrainRequest
from hvdocker.training.make_capsule import NOT_IN_CAPSULE
from hvdocker.training.report import TrainReport, Viewer
from hvdocker.training.train import train

_CODE_LOST = "the job cannot be run again with the same code"


# Fields of a request whose default is None and whose values are numbers. Values of all other such fields are text.
_NUMBER_FIELDS = frozenset(("np", "min_np", "max_np", "restarts", "start_timeout_s"))


@dataclass(frozen=True)
class ReplayOptions:
    """Flags of `replay`. `np` is the new number of ranks; with it, `-H` of the original job is not used. None keeps the
    number of ranks and `-H` of the original job.

    `env` and `secrets` are the values of --env and --secret. They give values that a capsule does not store, and
    override those that it has. `lock_wait_s` is how long to wait for the locks of the hosts. `is_forced` allows a job
    on another user's cluster, and on an image that seems to lack a framework."""

    np: int | None = None
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    is_detached: bool = False
    is_dry_run: bool = False
    accept_new_host_keys: bool = False
    lock_wait_s: float = 60.0
    is_forced: bool = False


def replay(env: Env, located: Located, job: str, options: ReplayOptions, viewer: Viewer) -> TrainReport:
    """Run a job again from its capsule, and return the report of the new job. `job` is the id of the original job, or
    the beginning of one. Raises HvdockerError if there is no capsule, or if its code cannot be restored."""
    (stored,) = find_capsules(env, located, (job,))
    located = with_environment(located, stored, options)
    with restored_code(env, stored) as source:
        request = replay_request(stored, options, source)
        return train(env, located, request, viewer)


def replay_request(stored: StoredCapsule, options: ReplayOptions, source: Path) -> TrainRequest:
    """Return the request in the capsule `stored` of the original job, changed by `options`, with the code in the folder
    `source`.

    If the original job asked for all slots, the replay asks for the number of ranks that the job had, because the
    cluster may have another size now."""
    capsule = stored.capsule
    words = _request_fields(capsule.request)
    if options.np or not words.get("hosts"):
        words |= {"np": options.np or words.get("np") or capsule.np, "hosts": None}
    # The launcher that the job had, also if the inventory or the image would choose another one now.
    words["launcher"] = capsule.launcher_name
    if not named(capsule.launcher_name).limits_start:
        # Capsules of earlier versions have the default of this flag, which only some launchers take.
        words.pop("start_timeout_s", None)
    if words.get("script"):
        words["script"] = str(source / words["script"])
    if words.get("requirements"):
        words["requirements"] = _requirements(stored, Path(words["requirements"]), source)
    return TrainRequest(
        **{
            **words,
            "workdir": source,
            "env": (*_env_flags(stored), *options.env),
            "secrets": _secret_flags(stored, options),
            "is_detached": options.is_detached,
            "is_dry_run": options.is_dry_run,
            "accept_new_host_keys": options.accept_new_host_keys,
            "lock_wait_s": options.lock_wait_s,
            "is_forced": options.is_forced,
            "replay": stored,
        }
    )


def _requirements(stored: StoredCapsule, path: Path, source: Path) -> Path:
    """Return the path of the requirements file for the replay. `stored` is the capsule, `path` the original path. A
    file that was in the code folder is taken from the restored code (`source`); for any other file the original path is
    returned.

    Raises UsageProblem for a file outside of the code if the capsule came from a host, because such a capsule may not
    name files of the controller."""
    folder = stored.capsule.code.folder
    if folder and path.is_relative_to(folder) and ".." not in path.parts:
        return source / path.relative_to(folder)
    if stored.host:
        raise UsageProblem(
            f"the requirements of {stored.capsule.job} were {path}, outside of its code",
            fix="run it again where it was started, or with hvdocker train",
        )
    return path


def _request_fields(request: Mapping[str, object]) -> dict[str, Any]:
    """Return the checked fields of TrainRequest from `request`, the part of a capsule that stores them.

    Unknown fields, written by another version, are dropped. Values are `Any` because fields have different types."""
    return _read_fields(TrainRequest(), request)


def _read_fields(default: Any, told: Mapping[str, object]) -> dict[str, Any]:
    """Return the values that `told` has for the fields of `default`, by field name. `default` is a TrainRequest, or a
    dataclass in one of its fields. `told` is the part of a capsule that stores them.

    Raises UsageProblem for a value of the wrong type. Fields in NOT_IN_CAPSULE and unknown fields are skipped. Values
    are `Any` because fields have different types."""
    found: dict[str, Any] = {}
    for each in fields(default):
        value, usual = told.get(each.name), getattr(default, each.name)
        if each.name not in told or each.name in NOT_IN_CAPSULE:
            continue
        if is_dataclass(usual) and isinstance(value, Mapping):
            found[each.name] = replace(usual, **_read_fields(usual, value))  # type: ignore[type-var]  # an instance
        elif _has_type(each.name, value, usual):
            found[each.name] = tuple(value) if isinstance(value, list) else value
        else:
            raise UsageProblem(f"the capsule is damaged: {each.name} is {value!r}")
    return found


def _has_type(name: str, value: object, usual: object) -> bool:
    """Return whether `value`, read from a capsule, has the type of the field `name`, whose default is `usual`.

    A capsule may have other types, because a host or another version of hvdocker may have written it."""
    if usual is None:
        return value is None or type(value) is (int if name in _NUMBER_FIELDS else str)
    if isinstance(usual, tuple):
        return isinstance(value, list) and all(isinstance(word, str) for word in value)
    return type(value) is type(usual)


def with_environment(located: Located, stored: StoredCapsule, options: ReplayOptions) -> Located:
    """Return `located` with the environment variables of the original job (from its capsule `stored`) instead of the
    inventory's `env:`.

    A capsule hides values that look secret. A hidden value is taken from the inventory's `env:`. A value that is not
    there has to be given by a flag: by `--env`, or by a flag from `_env_flags`. Raises UsageProblem if none of these
    has it."""
    capsule, inventory = stored.capsule, located.inventory
    hidden = capsule.hidden()
    said = {flag.partition("=")[0] for flag in (*_env_flags(stored), *options.env)}
    found = {name: inventory.env[name] for name in hidden if name in inventory.env}
    lacking = [name for name in hidden if name not in said and name not in found]
    if lacking:
        raise UsageProblem(
            f"values that look secret are in no capsule: {', '.join(lacking)}",
            fix=f"say them: {' '.join(f'--env {name}' for name in lacking)}",
        )
    plain = {name: value for name, value in capsule.env.items() if name not in hidden}
    return replace(located, inventory=replace(inventory, env={**plain, **found}))


def _env_flags(stored: StoredCapsule) -> tuple[str, ...]:
    """Return, as --env flags, the hidden variables that the original job took from the caller's environment. `stored`
    is its capsule.

    Empty if the capsule came from a host, because such a capsule may not name variables of the controller."""
    capsule = stored.capsule
    if stored.host:
        return ()
    return tuple(name for name in capsule.hidden() if name in capsule.env_from_caller)


def _secret_flags(stored: StoredCapsule, options: ReplayOptions) -> tuple[str, ...]:
    """Return the `--secret` flags of the replay: those of the original job (from its capsule `stored`), and those in
    `options`.

    Raises UsageProblem if the capsule came from a host and names a secret that `options` does not name."""
    said = {source.name for source in parse_secrets(options.secrets)}
    wanted = [secret for secret in stored.capsule.secrets if secret.name not in said]
    if wanted and stored.host:
        words = " ".join(f"--secret {_secret_flag(secret)}" for secret in wanted)
        raise UsageProblem(
            f"the capsule was read from {stored.host}, which may ask for anything of this machine",
            lines=[f"it asks for: {words}"],
            fix="where that is right, say these words after replay",
        )
    return (*(_secret_flag(secret) for secret in wanted), *options.secrets)


def _secret_flag(secret: SecretSource) -> str:
    return secret.name if secret.path is None else f"{secret.name}=@{secret.path}"


@contextmanager
def restored_code(env: Env, stored: StoredCapsule) -> Iterator[Path]:
    """Yield a folder that has exactly the code of the job with the capsule `stored`, as its hash shows.

    First the original folder of the code is checked, or the current folder if the original is not used (see
    `_candidate_folders`). If its files differ, the code is checked out from git into a temporary folder, which is
    removed at the end of the `with` block. Raises HvdockerError if git does not have the code."""
    code = stored.capsule.code
    for folder in _candidate_folders(env, stored)[:1]:
        if _hash_of(folder) == code.hash:
            yield folder
            return
    with tempfile.TemporaryDirectory(prefix="hvdocker-replay-") as scratch:
        # The folder is always called `code`, because the output of a job may contain its name.
        folder = _from_git(env, stored, Path(scratch) / "code")
        env.listener(Event("code", f"the code of {stored.capsule.job} comes from git: {code.git.commit[:12]}"))
        yield folder


def _candidate_folders(env: Env, stored: StoredCapsule) -> list[Path]:
    """Return the folders that may have the code of the job with the capsule `stored`: the original folder, then the
    current folder.

    The original folder is left out if it is not on this machine, or if the capsule came from a host. The current folder
    is left out if it is `/` or the user's home."""
    here, then = env.cwd.resolve(), Path(stored.capsule.code.folder)
    far_too_much = (Path("/"), Path.home().resolve())
    wanted = [folder for folder in (then,) if not stored.host and folder.is_absolute() and folder.is_dir()]
    return [*dict.fromkeys([*wanted, *([here] if here not in far_too_much else [])])]


def _hash_of(folder: Path) -> str:
    from hvdocker.sync.hash_cache import HashCache
    from hvdocker.sync.walk import read_tree

    try:
        return read_tree(folder, HashCache.of_user()).hash
    except UsageProblem:  # a file that cannot be read: then this is not the code
        return ""


def _from_git(env: Env, stored: StoredCapsule, target: Path) -> Path:
    from hvdocker.jobs.capsule.git import GitProblem, check_out

    capsule, tried = stored.capsule, list[str]()
    _refuse_without_git(env, stored)
    for place in _candidate_folders(env, stored):
        try:
            folder = check_out(place, capsule.code.git, stored.patch, target)
        except GitProblem as error:
            tried.append(f"{place}: {error}")
            continue
        if _hash_of(folder) == capsule.code.hash:
            return folder
        raise _code_lost(capsule, ["its commit and patch are not all of it: do filters or submodules have a part?"])
    raise _code_lost(capsule, tried or ["no folder of it is here"])


def _refuse_without_git(env: Env, stored: StoredCapsule) -> None:
    git = stored.capsule.code.git
    changed = [f"{folder}: its files are others now" for folder in _candidate_folders(env, stored)[:1]]
    if not git.commit:
        raise _code_lost(stored.capsule, [*changed, f"git does not have it: {git.why or 'no commit is recorded'}"])
    if git.is_dirty and git.why:
        raise _code_lost(stored.capsule, [*changed, f"its changes to {git.commit[:12]} were not kept: {git.why}"])
    if git.has_patch and len(stored.patch) != git.patch_bytes:
        raise _code_lost(stored.capsule, [*changed, "the patch of its changes is not here: hvdocker fetch brings it"])


def _code_lost(capsule: Capsule, lines: list[str]) -> HvdockerError:
    git = capsule.code.git
    where = f"{capsule.code.folder}" + (f" at {git.commit[:12]}" if git.commit else "")
    return HvdockerError(
        _CODE_LOST,
        lines=[f"its code was {where}, hash {capsule.code.hash[:12]}", *lines],
        fix="go to a clone that has the commit, or put the files back as they were; "
        "hvdocker train runs what is here now",
    )
