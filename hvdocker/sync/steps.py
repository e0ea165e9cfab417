"""The plan step that syncs code to a host. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.plan.plan import Step


@dataclass(frozen=True)
class SyncCode(Step):
    """Sync the code from the folder `source` on the controller to `folder` on the step's host.

    With `checks_contents` all files are hashed, on the controller and on the host, instead of trusting their sizes and
    times. `is_shared` means that the container that reads the files runs as another user than the SSH login, so the
    files must be readable by all users."""

    source: str
    folder: str
    is_shared: bool = False
    checks_contents: bool = False

    def describe(self) -> str:
        how = ", comparing contents" if self.checks_contents else ""
        return f"sync {self.source} to {self.folder}{how}"
