from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.sync.walk import read_tree
from hvdocker.training.inputs.job_environment import job_environment
from hvdocker.training.inputs.user_command import UserCommand, user_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").touch()
    (tmp_path / "run.sh").touch()
    return tmp_path


def test_a_script_is_run_by_python_from_its_own_folder(project: Path) -> None:
    assert user_command(project, "src/train.py", None, ("--epochs", "3"), None) == UserCommand(
        ("python", "/train/train.py", "--epochs", "3"), project / "src", "train", "train.py", is_script=True
    )


def test_a_workdir_takes_more_along(project: Path) -> None:
    assert user_command(project, "src/train.py", None, (), Path()) == UserCommand(
        ("python", "/train/src/train.py"), project, "train", "src/train.py", is_script=True
    )


def test_a_script_that_is_not_python_runs_itself(project: Path) -> None:
    assert user_command(project, "run.sh", None, (), None).command == ("/train/run.sh",)


def test_a_notebook_is_no_script(project: Path) -> None:
    (project / "train.ipynb").touch()
    with pytest.raises(UsageProblem, match="is a notebook") as raised:
        user_command(project, "train.ipynb", None, (), None)
    assert raised.value.fix == "jupyter nbconvert --to script train.ipynb"


def test_a_script_that_an_ignore_file_leaves_out_is_refused(project: Path) -> None:
    (project / "src" / ".gitignore").write_text("train.*\n")
    (project / "src" / "other.py").touch()
    sent = read_tree(project / "src").entries
    with pytest.raises(UsageProblem, match=r"train\.py is not sent"):
        user_command(project, "src/train.py", None, (), None).refuse_unsent_script(sent)
    for script, rest in (("src/other.py", ()), (None, ("train.py",))):
        user_command(project, script, None, rest, Path("src")).refuse_unsent_script(sent)


def test_a_module(project: Path) -> None:
    assert user_command(project, None, "pkg.deep.mod", ("x",), None) == UserCommand(
        ("python", "-m", "pkg.deep.mod", "x"), project, "mod", "pkg.deep.mod"
    )


def test_any_command(project: Path) -> None:
    assert user_command(project, None, None, ("/bin/echo", "hi"), Path("src")) == UserCommand(
        ("/bin/echo", "hi"), project / "src", "echo", "/bin/echo"
    )


def test_an_absolute_script_and_one_through_a_symlink(project: Path) -> None:
    assert user_command(Path("/"), str(project / "src" / "train.py"), None, (), None).source == project / "src"
    (project / "link.py").symlink_to("src/train.py")
    assert user_command(project, "link.py", None, (), None).source == project / "src"


@pytest.mark.parametrize(
    ("script", "module", "rest", "workdir", "what"),
    [
        ("src/train.py", "mod", (), None, "exclude each other"),
        (None, None, (), None, "nothing to run"),
        ("nope.py", None, (), None, "the script nope.py is not there"),
        ("src", None, (), None, "the script src is a folder"),
        ("run.sh", None, (), Path("src"), "run.sh lies outside of --workdir src"),
        (None, "mod", (), Path("nope"), "--workdir nope is not a folder"),
        (None, "mod", (), Path("/"), "refusing to sync all of /"),
        (None, "mod", (), Path("~"), "refusing to sync all of "),
    ],
)
def test_what_cannot_be_run(
    project: Path,
    script: str | None,
    module: str | None,
    rest: tuple[str, ...],
    workdir: Path | None,
    what: str,
) -> None:
    with pytest.raises(UsageProblem, match=what):
        user_command(project, script, module, rest, workdir)


def test_a_flag_beats_the_inventory_and_a_bare_name_takes_the_callers_value() -> None:
    made = job_environment({"A": "1", "B": "2"}, ["B=3", "C", "D=", "E=x=y\nz"], {"C": "mine", "B": "no"})
    assert made == {"A": "1", "B": "3", "C": "mine", "D": "", "E": "x=y\nz"}


@pytest.mark.parametrize("flag", ["", "=x", "1A=x", "A B=x", "A-B"])
def test_what_is_no_variable(flag: str) -> None:
    with pytest.raises(UsageProblem, match="--env should be NAME or NAME=VALUE"):
        job_environment({}, [flag], {})


def test_a_variable_that_is_not_there() -> None:
    with pytest.raises(UsageProblem, match="--env TOKEN: there is no such variable here") as caught:
        job_environment({}, ["TOKEN"], {})
    assert caught.value.fix == "--env TOKEN=VALUE"


def test_the_copy_of_a_host_is_no_folder_to_train_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that is both the controller and a host."""
    monkeypatch.setenv("HOME", str(tmp_path))
    host = tmp_path / ".hvdocker" / "lab" / "a"
    (host / "code").mkdir(parents=True)
    (host / "code" / "train.py").touch()
    assert user_command(host / "code", "train.py", None, (), None).source == host / "code"
    (host / "members").touch()
    with pytest.raises(UsageProblem, match="`down` would remove it"):
        user_command(host / "code", "train.py", None, (), None)
