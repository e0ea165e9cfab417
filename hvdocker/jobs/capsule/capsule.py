"""The capsule of a job: what the job was made of, so that it can be replayed and compared. A capsule contains no
secret values. It does not say how the job ended; record.json does. Pure: opens nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hvdocker.inventory.redact import HIDDEN
from hvdocker.launchers import DEFAULT
from hvdocker.protocol.json_text import json_text
from hvdocker.protocol.placement import Placement, Share
from hvdocker.secret import SecretSource

FORMAT = 1
CAPSULE_FILE = "capsule.json"
JOB_FILE = "job.json"
PATCH_FILE = "code.patch"
RECORD_FILE = "logs/record.json"

# A patch up to the first size is stored on every host of the job, up to the second only on the head.
PATCH_MAX_BYTES_ON_ALL_HOSTS = 1 << 20
PATCH_MAX_BYTES = 20 << 20

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")

T = TypeVar("T")


@dataclass(frozen=True)
class GitSeen:
    """The git state of the code folder that was synced.

    `commit` is the full hash of HEAD. `branch` is empty for a detached HEAD. `prefix` is the path of the folder in
    its repository (`a/b/`, or empty at the top). `is_dirty` says that synced files differ from the commit. It is
    also set if no patch could be made, because the files may differ then. `patch_bytes` is the size of the patch
    with the differences. `why` is the reason why there is no commit or no patch; it is empty if there is no problem."""

    commit: str = ""
    branch: str = ""
    prefix: str = ""
    is_dirty: bool = False
    patch_bytes: int = 0
    why: str = ""

    @property
    def has_patch(self) -> bool:
        return self.patch_bytes > 0

    def as_json(self) -> Mapping[str, object]:
        return {
            "commit": self.commit or None,
            "branch": self.branch or None,
            "prefix": self.prefix,
            "dirty": self.is_dirty,
            "patch_bytes": self.patch_bytes,
            "why": self.why or None,
        }

    @staticmethod
    def read(value: Any) -> GitSeen:  # Any: foreign JSON, checked field by field
        """Parse the value that `as_json` returned, after it was stored as JSON. Raise ValueError if the commit is not a
        full hash, or the prefix is not a relative folder."""
        commit, prefix = str(value.get("commit") or ""), str(value.get("prefix") or "")
        if commit and not _COMMIT.fullmatch(commit):
            raise ValueError(f"{commit!r} is no commit")
        if prefix and (prefix.startswith("/") or not prefix.endswith("/") or ".." in prefix.split("/")):
            raise ValueError(f"{prefix!r} is no folder of a repository")
        return GitSeen(
            commit=commit,
            branch=str(value.get("branch") or ""),
            prefix=prefix,
            is_dirty=bool(value.get("dirty")),
            patch_bytes=int(value.get("patch_bytes") or 0),
            why=str(value.get("why") or ""),
        )


@dataclass(frozen=True)
class CodeUsed:
    """The code that was synced to the hosts. `hash` is the hash of its contents (`Tree.hash`); `folder` is its
    path on the controller. `files` and `size_bytes` are the number and total size of the synced files. `git` is the
    state of the folder in git."""

    hash: str
    folder: str = ""
    files: int = 0
    size_bytes: int = 0
    git: GitSeen = field(default_factory=GitSeen)

    def as_json(self) -> Mapping[str, object]:
        return {
            "hash": self.hash,
            "folder": self.folder,
            "files": self.files,
            "bytes": self.size_bytes,
            "git": self.git.as_json(),
        }

    @staticmethod
    def read(value: Any) -> CodeUsed:  # Any: as above
        return CodeUsed(
            hash=str(value["hash"]),
            folder=str(value.get("folder") or ""),
            files=int(value.get("files") or 0),
            size_bytes=int(value.get("bytes") or 0),
            git=GitSeen.read(value.get("git") or {}),
        )


@dataclass(frozen=True)
class ImageUsed:
    """The image of a job.

    `name` is the name of the cluster's image, from the inventory or `up --image`. `content` is the content hash of
    that image, which is equal on every engine; empty if unknown. `used` is the image of the job's containers: the
    cluster's image, perhaps with a layer for requirements. `ids` has the image id by host, because engines may give
    one image different ids. Hosts whose worker is replaced for the job are not in `ids`."""

    name: str
    content: str = ""
    used: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> Mapping[str, object]:
        return {"name": self.name, "content": self.content or None, "used": self.used or None, "ids": dict(self.ids)}

    @staticmethod
    def read(value: Any) -> ImageUsed:  # Any: as above
        return ImageUsed(
            name=str(value["name"]),
            content=str(value.get("content") or ""),
            used=str(value.get("used") or ""),
            ids=_texts(value.get("ids")),
        )


@dataclass(frozen=True)
class Capsule:
    """What a job was made of.

    `started` is a Unix time and `version` the version of hvdocker. `command` is what each rank runs, in the folder
    `workdir` of the container. `launcher_name` and `launcher_options` are the launcher and its options. `launcher` are
    words that show the user how the ranks are started, and `launcher_reason` says what chose the launcher. `ranks` is
    the number of ranks if it differs from the number of slots, else 0. `addresses` has the training address and
    `engines` the version of the Docker engine, both by host. `port` is the port of the workers' sshd. `resilience` has
    the settings for restarts, elastic jobs and hangs, as `Resilience.as_json` returns them. `script` names the script,
    module or command for the user.

    Values of `env` that look secret are replaced by stars. `env_from_caller` names the variables that were taken from
    the environment of the user who started the job. `secrets` has names and sources, no values. `requirements` are the
    Python requirements that were added to the image, with the keys `source`, `lines`, `constraints` and `wheels`
    (digests by name); None if none were. `inventory` has the settings of the cluster, as `config_json` returns them.
    `request` has the flags of `train` that are needed to repeat the job, by field name of TrainRequest. `replay_of` is
    the id of the job that this one repeats, or empty."""

    job: str
    cluster: str
    owner: str
    started: float
    version: str
    command: tuple[str, ...]
    launcher: tuple[str, ...]
    workdir: str
    placement: Placement
    addresses: Mapping[str, str]
    port: int
    image: ImageUsed
    code: CodeUsed
    engines: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    env_from_caller: tuple[str, ...] = ()
    secrets: tuple[SecretSource, ...] = ()
    resilience: Mapping[str, object] = field(default_factory=dict)
    script: str = ""
    requirements: Mapping[str, object] | None = None
    inventory: Mapping[str, object] = field(default_factory=dict)
    request: Mapping[str, object] = field(default_factory=dict)
    replay_of: str = ""
    launcher_name: str = DEFAULT
    launcher_options: Mapping[str, object] = field(default_factory=dict)
    launcher_reason: str = ""
    ranks: int = 0

    @property
    def np(self) -> int:
        return self.ranks or self.placement.np

    def hidden(self) -> tuple[str, ...]:
        """Return the names of the variables in `env` whose values were replaced by stars, wholly or in part."""
        return tuple(name for name, value in self.env.items() if HIDDEN in value)

    def as_json(self) -> Mapping[str, object]:
        return {
            "format": FORMAT,
            "job": self.job,
            "cluster": self.cluster,
            "owner": self.owner,
            "script": self.script,
            "started": self.started,
            "replay_of": self.replay_of or None,
            "versions": {"hvdocker": self.version, "engines": dict(self.engines)},
            "image": self.image.as_json(),
            "requirements": self.requirements,
            "code": self.code.as_json(),
            "command": list(self.command),
            "launcher": list(self.launcher),
            "launcher_name": self.launcher_name,
            "launcher_options": dict(self.launcher_options),
            "launcher_reason": self.launcher_reason or None,
            "workdir": self.workdir,
            "env": dict(self.env),
            "env_from_caller": list(self.env_from_caller),
            "secrets": [{"name": secret.name, "path": secret.path} for secret in self.secrets],
            "endurance": dict(self.resilience),
            "np": self.np,
            "port": self.port,
            "placement": [
                {
                    "host": share.host,
                    "slots": share.slots,
                    "devices": list(share.devices),
                    "address": self.addresses.get(share.host, ""),
                }
                for share in self.placement.shares
            ],
            "request": dict(self.request),
            "inventory": dict(self.inventory),
        }

    def text(self) -> str:
        return json_text(self.as_json()) + "\n"

    @staticmethod
    def read(text: str) -> Capsule | None:
        """Parse `text`, the content of capsule.json. Return None if it is not a valid capsule: the file may come from a
        host, and what hosts send is not trusted."""
        try:
            return _read(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


@dataclass(frozen=True)
class CapsuleFiles:
    """The files of a capsule: the capsule itself, and a git patch with the code changes that are not in the commit that
    the capsule names. `patch` is empty if there are none, or if no patch could be made."""

    capsule: Capsule
    patch: bytes = b""

    def patch_on(self, host: str) -> bytes:
        """Return the patch to store on this host. A patch larger than PATCH_MAX_BYTES_ON_ALL_HOSTS is stored on
        the head only; the other hosts get an empty one."""
        is_head = host == self.capsule.placement.head
        return self.patch if is_head or len(self.patch) <= PATCH_MAX_BYTES_ON_ALL_HOSTS else b""


def _read(value: Any) -> Capsule:  # Any: as above
    versions = value.get("versions") or {}
    return Capsule(
        job=str(value["job"]),
        cluster=str(value["cluster"]),
        owner=str(value.get("owner") or ""),
        started=float(value["started"]),
        version=str(versions.get("hvdocker") or ""),
        command=_words(value["command"]),
        launcher=_words(value["launcher"]),
        workdir=str(value["workdir"]),
        placement=Placement(tuple(_share(share) for share in value["placement"])),
        addresses={str(share["host"]): str(share.get("address") or "") for share in value["placement"]},
        port=int(value["port"]),
        image=ImageUsed.read(value["image"]),
        code=CodeUsed.read(value["code"]),
        engines=_texts(versions.get("engines")),
        env=_texts(value.get("env")),
        env_from_caller=_words(value.get("env_from_caller") or ()),
        secrets=tuple(_secret(secret) for secret in value.get("secrets") or ()),
        resilience=dict(value.get("endurance") or {}),
        script=str(value.get("script") or ""),
        requirements=_maybe(dict, value.get("requirements")),
        inventory=dict(value.get("inventory") or {}),
        request=dict(value.get("request") or {}),
        replay_of=str(value.get("replay_of") or ""),
        # A capsule without a name is from a version that had only the default launcher.
        launcher_name=str(value.get("launcher_name") or DEFAULT),
        launcher_options=dict(value.get("launcher_options") or {}),
        launcher_reason=str(value.get("launcher_reason") or ""),
        ranks=_more_ranks(value, value["placement"]),
    )


def _more_ranks(value: Any, shares: Any) -> int:  # Any: as above
    np, slots = int(value.get("np") or 0), sum(int(share["slots"]) for share in shares)
    return np if np != slots else 0


def _share(value: Any) -> Share:  # Any: as above
    return Share(str(value["host"]), int(value["slots"]), _words(value.get("devices") or ()))


def _secret(value: Any) -> SecretSource:  # Any: as above
    return SecretSource(str(value["name"]), _maybe(str, value.get("path")))


def _maybe(make: Callable[[Any], T], value: Any) -> T | None:  # Any: as above
    return None if value is None else make(value)


def _words(value: Any) -> tuple[str, ...]:  # Any: as above
    if isinstance(value, str):
        raise TypeError("a list of words is wanted")
    return tuple(str(word) for word in value)


def _texts(value: Any) -> dict[str, str]:  # Any: as above
    return {str(name): str(text) for name, text in (value or {}).items()}
