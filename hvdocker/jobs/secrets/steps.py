"""The steps that put secrets into containers and remove them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.plan.plan import Step
from hvdocker.secret import SecretSource


@dataclass(frozen=True)
class PutSecrets(Step):
    """Put a job's secrets into the container that runs the ranks of this host, as files that belong to `uid` and `gid`.
    `secrets` has names and sources, because a plan contains no secret values. `is_master` says whether the container is
    the job's master; otherwise it is a worker. If the start of the job fails, the secrets are removed from a worker
    again. A master is removed as a whole then."""

    container: str
    uid: int
    gid: int
    job: str
    secrets: tuple[SecretSource, ...]
    is_master: bool = False

    def describe(self) -> str:
        return f"put {', '.join(secret.name for secret in self.secrets)} into {self.container}"


@dataclass(frozen=True)
class RemoveSecrets(Step):
    """Remove from the worker `container` the secrets that ended jobs may have left. `jobs` are the ids of these
    jobs."""

    container: str
    jobs: tuple[str, ...]

    def describe(self) -> str:
        return f"remove what is left of the secrets of {', '.join(self.jobs)}"


@dataclass(frozen=True)
class OverwriteSecrets(Step):
    """Overwrite the secrets `names` of a job in its killed master `container` with empty files: no command can run in
    it to remove them."""

    container: str
    job: str
    names: tuple[str, ...]

    def describe(self) -> str:
        return f"empty the secrets of {self.job}, which was killed"
