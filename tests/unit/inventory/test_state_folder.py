"""A .hvdocker/ folder that cannot be written is told in words, with the folder and what to do."""

from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import ExitCode, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.inventory.state_folder import check_state_is_writable, generate, point_at


@pytest.fixture
def closed(tmp_path: Path) -> Located:
    """Not a folder, so that also root cannot write there."""
    located = generate(Env(cwd=tmp_path, environ={}), local=1)
    (tmp_path / ".hvdocker").write_text("not a folder")
    return located


def test_up_says_which_folder_cannot_be_written(closed: Located) -> None:
    with pytest.raises(UsageProblem, match=r"\.hvdocker cannot be written: ") as caught:
        point_at(closed)
    assert caught.value.exit_code == ExitCode.USAGE and caught.value.fix and "-i" in caught.value.fix


def test_verbs_that_fetch_find_out_before_they_begin(closed: Located) -> None:
    with pytest.raises(UsageProblem, match=r"\.hvdocker cannot be written: .* is not a folder"):
        check_state_is_writable(closed)


def test_a_folder_that_is_made_as_needed_is_fine(tmp_path: Path) -> None:
    check_state_is_writable(generate(Env(cwd=tmp_path, environ={}), local=1))
    assert list(tmp_path.iterdir()) == []
