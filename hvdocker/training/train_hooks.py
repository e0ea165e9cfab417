"""The hooks of a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hvdocker.errors import HeadLost, Interrupted, JobFailed, JobStopped
from hvdocker.hooks.hooks import Hooks, code_of
from hvdocker.training.report import Started, Viewer


class TrainHooks:
    """Those of a job: its id and its hosts are known from its start on."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    @contextmanager
    def around(self, viewer: Viewer, tells_failure: bool = True) -> Iterator[None]:
        """post-train when the job has ended, however it did, or was started to run on its own; not where it
        goes on unseen."""
        self._listen(viewer)
        try:
            self._hooks.before("train")
            yield
        except BaseException as error:
            if self._hooks.job and isinstance(error, (JobFailed, JobStopped, Interrupted, HeadLost)):
                self._hooks.after("train", code_of(error))
            if tells_failure:
                self._hooks.failed(error)
            raise
        self._hooks.after("train", 0)

    def _listen(self, viewer: Viewer) -> None:
        tell = viewer.started

        def started(info: Started) -> None:
            self._hooks = self._hooks.with_job(info.job, info.placement.hosts)
            tell(info)

        viewer.started = started
