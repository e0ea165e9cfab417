"""How a job is started: what is tried again."""

import pytest

from hvdocker.events import Event
from hvdocker.sync.file_errors import CodeChanged
from hvdocker.training.launch import SYNC_TRIES, repeat_if_code_changes


class Start:
    """Starts a job whose code changes the first `changes` times."""

    def __init__(self, changes: int) -> None:
        self.changes, self.calls = changes, 0
        self.events: list[Event] = []

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.changes:
            raise CodeChanged("/code/train.py")
        return "started"

    def run(self) -> str:
        return repeat_if_code_changes(self, self.events.append)


def test_code_that_changes_during_the_sync_is_synced_again() -> None:
    start = Start(changes=SYNC_TRIES - 1)
    assert start.run() == "started"
    told = Event("note", "/code/train.py changed while it was being synced: the sync begins again")
    assert start.events == [told] * (SYNC_TRIES - 1)


def test_code_that_keeps_changing_is_an_error_after_a_few_tries() -> None:
    start = Start(changes=SYNC_TRIES)
    with pytest.raises(CodeChanged, match=r"/code/train\.py changed while it was being synced"):
        start.run()
    assert start.calls == SYNC_TRIES
