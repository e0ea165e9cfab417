"""The programs in bin/ and the build's own, as files."""

import gc
import importlib.util
import runpy
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

IMAGE = Path(__file__).parents[3] / "images" / "doc-hvd"


def load(path: Path) -> ModuleType:
    loader = SourceFileLoader(path.name.replace("-", "_"), str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "bin/discover",
        "bin/entrypoint",
        "bin/ssh",
        "build/venv-pip",
        "build/slim-venv",
        "build/cuda-toolkit",
        "build/horovod-nccl",
    ],
)
def test_shell_programs_parse(name: str) -> None:
    subprocess.run(["sh", "-n", str(IMAGE / name)], check=True)


@pytest.mark.parametrize("name", ["agent", "check", "rank", "spawn", "stacks", "supervisor"])
def test_python_programs_run_the_module_that_they_name(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(IMAGE / "bin" / name), run_name="__main__")
    assert (ended.value.code, gc.isenabled()) == (2, True)
    assert f"usage: {name} " in capsys.readouterr().err


def test_a_persons_command_runs_exactly_as_given() -> None:
    words = ["a b", "$HOME", "new\nline", "", "한국어"]
    command = [str(IMAGE / "bin/entrypoint"), "printf", "%s\\0", *words]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    assert output.decode().split("\0") == [*words, ""]


def test_no_words_are_a_usage_error() -> None:
    assert subprocess.run([str(IMAGE / "bin/entrypoint")], capture_output=True).returncode == 2


def test_without_a_list_of_hosts_none_are_discovered() -> None:
    done = subprocess.run([str(IMAGE / "bin/discover")], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_patch_must_fit_exactly_once() -> None:
    patch = load(IMAGE / "build/patch-horovod")
    change = patch.Change("f.py", "old", "new")
    assert patch.patched("an old text", change) == "an new text"
    for text in ("nothing", "old old"):
        with pytest.raises(SystemExit, match=r"f\.py"):
            patch.patched(text, change)


def test_all_patches_are_made_and_the_launcher_imports_nothing_by_itself(tmp_path: Path) -> None:
    """Ranks are started through processes that import the launcher's script without running it."""
    patch = load(IMAGE / "build/patch-horovod")
    package = tmp_path / "lib/python3.11/site-packages/horovod"
    for change in patch.CHANGES:
        path = package / change.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{change.old}\n")
    launcher = tmp_path / "bin" / "horovodrun"
    launcher.parent.mkdir()
    launcher.write_text("#!/opt/venv/bin/python3\nfrom horovod.runner.launch import run_commandline\n")
    patch.main(str(tmp_path))
    for change in patch.CHANGES:
        assert change.new in (package / change.path).read_text()
        assert change.old not in (package / change.path).read_text()
    first, rest = launcher.read_text().split("\n", 1)
    assert first == "#!/opt/venv/bin/python3"
    exec(compile(rest, "horovodrun", "exec"), {"__name__": "__mp_main__"})
    with pytest.raises(ImportError, match="horovod"):
        exec(compile(rest, "horovodrun", "exec"), {"__name__": "__main__"})
