"""Run the user's hooks pre-train, post-train and on-failure around a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hvdocker.errors import HeadLost, Interrupted, JobFailed, JobStopped
from hvdocker.hooks.hooks import Hooks, exit_code_of
from hvdocker.training.report import Started, Viewer


class TrainHooks:
    """The user's hooks of one job. Hooks that run after the job has started are given its id and its hosts."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    @contextmanager
    def around(self, viewer: Viewer, tells_failure: bool = True) -> Iterator[None]:
        """Run the hook pre-train, then the `with` block, then the hook post-train.

        `viewer` must be the viewer that the `with` block passes to `train`. Its callback `started` is wrapped, so that
        later hooks are given the job's id and hosts. The block must raise JobFailed or JobStopped if the job did not
        succeed (`raise_unless_succeeded`); otherwise post-train is given exit code 0.

        post-train runs if the job has ended, successfully or not, or was detached. It does not run if the job's end was
        not seen, because the job may still be running. With `tells_failure` the hook on-failure runs after an error;
        pass False if the caller runs it."""
        self._listen(viewer)
        try:
            self._hooks.before("train")
            yield
        except BaseException as error:
            if self._hooks.job and isinstance(error, (JobFailed, JobStopped, Interrupted, HeadLost)):
                self._hooks.after("train", exit_code_of(error))
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
