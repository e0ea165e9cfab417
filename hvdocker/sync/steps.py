"""The step that syncs code."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.plan.plan import Step


@dataclass(frozen=True)
class SyncCode(Step):
    """`checks_contents`: files are compared by content, here and there, not by how they look."""

    source: str
    folder: str
    is_shared: bool = False
    checks_contents: bool = False

    def describe(self) -> str:
        how = ", comparing contents" if self.checks_contents else ""
        return f"sync {self.source} to {self.folder}{how}"
