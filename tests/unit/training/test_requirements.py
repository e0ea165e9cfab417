"""Where the requirements of a job are looked for."""

from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import UsageProblem
from hvdocker.training.inputs.request import TrainRequest, _requirements, check_request
from hvdocker.training.inputs.user_command import user_command
from hvdocker.training.requirements import find_requirements


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A project whose script lies in a folder of its own; each folder has its requirements."""
    for folder in ("", "sub", "elsewhere"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "requirements.txt").write_text(f"of-{folder or 'top'}\n")
    (tmp_path / "sub" / "train.py").write_text("")
    return tmp_path


def found(cwd: Path, **asked: object) -> tuple[str, ...] | None:
    request = TrainRequest(**asked)
    work = user_command(cwd, request.script, request.module, request.rest, request.workdir)
    env = Env(cwd=cwd, environ={})
    result = _requirements(env, request, work)
    return result.lines if result else None


def test_beside_the_script(cwd: Path) -> None:
    assert found(cwd, script="sub/train.py") == ("of-sub",)
    assert found(cwd, script="sub/train.py", workdir=Path()) == ("of-sub",)


def test_in_the_synced_folder_of_a_module_or_command(cwd: Path) -> None:
    assert found(cwd, module="pkg.mod") == ("of-top",)
    assert found(cwd, rest=("true",), workdir=Path("elsewhere")) == ("of-elsewhere",)


def test_the_file_that_was_named(cwd: Path) -> None:
    named = Path("elsewhere/requirements.txt")
    assert found(cwd, script="sub/train.py", requirements=named) == ("of-elsewhere",)


def test_none_where_there_is_no_file_or_it_is_left_out(cwd: Path) -> None:
    assert found(cwd, script="sub/train.py", ignores_requirements=True) is None
    (cwd / "sub" / "requirements.txt").unlink()
    assert found(cwd, script="sub/train.py") is None


def test_both_flags_exclude_each_other() -> None:
    with pytest.raises(UsageProblem, match="exclude each other"):
        check_request(TrainRequest(requirements=Path("r.txt"), ignores_requirements=True))


def test_a_named_file_has_to_be_there(cwd: Path) -> None:
    with pytest.raises(UsageProblem, match=r"nowhere\.txt cannot be read: No such file"):
        find_requirements(cwd, Path("nowhere.txt"), cwd)


def test_an_included_file_has_to_be_there(cwd: Path) -> None:
    (cwd / "requirements.txt").write_text("-r nowhere.txt\n")
    with pytest.raises(UsageProblem, match=r"nowhere\.txt cannot be read: No such file"):
        find_requirements(cwd, None, cwd)


def test_wheels_of_a_folder_are_known_by_their_bytes(cwd: Path) -> None:
    (cwd / "requirements.txt").write_text("torch\n--find-links elsewhere\n")
    wheel = cwd / "elsewhere" / "torch-2-any.whl"
    keys = []
    for content in (b"one", b"two", b"one"):
        wheel.write_bytes(content)
        result = find_requirements(cwd, None, cwd)
        assert result and [found.path for found in result.wheels] == [str(wheel)]
        keys.append(result.key("base"))
    assert keys[0] == keys[2] != keys[1]


def test_a_folder_of_wheels_has_to_be_there(cwd: Path) -> None:
    (cwd / "requirements.txt").write_text("torch\n--find-links nowhere\n")
    with pytest.raises(UsageProblem, match="nowhere is not a folder"):
        find_requirements(cwd, None, cwd)


def test_text_is_utf8(cwd: Path) -> None:
    (cwd / "requirements.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match="are not UTF-8 text"):
        find_requirements(cwd, None, cwd)
