"""The examples: ordinary scripts, described, whose data is sent although git ignores it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hvdocker.sync.walk import read_tree

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/train.py"))
DATA = ("digits.npz", "data/train-images-idx3-ubyte.gz")


@pytest.mark.parametrize("name", EXAMPLES)
def test_data_that_prepare_writes_beside_an_example_is_sent(name: str, tmp_path: Path) -> None:
    """In a checkout, where the repository's .gitignore names it."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    folder = tmp_path / "examples" / name
    shutil.copytree(ROOT / "examples" / name, folder)
    for path in DATA:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).touch()
    ignored = subprocess.run(["git", "check-ignore", *DATA], cwd=folder, capture_output=True, text=True).stdout
    assert ignored.split() == list(DATA)
    assert {"train.py", *DATA} <= set(read_tree(folder).entries)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_described_in_the_guide(name: str) -> None:
    assert f"examples/{name}" in (ROOT / "docs" / "guides" / "frameworks.md").read_text()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*/*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_script_needs_nothing_of_hvdocker(path: Path) -> None:
    assert "import hvdocker" not in path.read_text() and "from hvdocker" not in path.read_text()


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"mnist", "elastic"}))
def test_a_readme_names_the_scripts_and_their_commands(name: str) -> None:
    text = (ROOT / "examples" / name / "README.md").read_text()
    assert f"hvdocker train examples/{name}/train.py" in text
    others = {path.name for path in (ROOT / "examples" / name).glob("*.py")} - {"train.py"}
    assert [script for script in others if script not in text] == []
