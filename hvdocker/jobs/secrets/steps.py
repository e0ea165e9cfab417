"""The steps that put, forget and empty secrets."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.plan.plan import Step
from hvdocker.secret import SecretSource


@dataclass(frozen=True)
class PutSecrets(Step):
    """Into the container that runs this host's ranks. The values stand in no plan."""

    container: str
    uid: int
    gid: int
    job: str
    secrets: tuple[SecretSource, ...]
    is_master: bool = False

    def describe(self) -> str:
        return f"put {', '.join(secret.name for secret in self.secrets)} into {self.container}"


@dataclass(frozen=True)
class ForgetSecrets(Step):
    """What jobs that have ended may have left in a worker."""

    container: str
    jobs: tuple[str, ...]

    def describe(self) -> str:
        return f"remove what is left of the secrets of {', '.join(self.jobs)}"


@dataclass(frozen=True)
class EmptySecrets(Step):
    """In a master that was killed: nothing can run in it any more, so its files are overwritten."""

    container: str
    job: str
    names: tuple[str, ...]

    def describe(self) -> str:
        return f"empty the secrets of {self.job}, which was killed"
