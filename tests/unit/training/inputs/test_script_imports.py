"""Which frameworks a script imports, itself or through the files beside it."""

import sys
from pathlib import Path

import pytest

from hvdocker.training.inputs.script_imports import MOST_FILES, frameworks_imported, start_file

SEARCHED = ("torch", "tensorflow", "jax", "horovod")


def imported(folder: Path, files: dict[str, str], start: str = "train.py") -> dict[str, str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return frameworks_imported(folder, start, set(files), SEARCHED)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch", ["torch"]),
        ("import torch.nn as nn, jax", ["torch", "jax"]),
        ("from horovod import tensorflow", ["horovod"]),
        ("import horovod.tensorflow as hvd", ["horovod"]),
        ("if True:\n    import torch", ["torch"]),
        ("def main():\n    import torch", ["torch"]),
        ("def rarely():\n    import torch", []),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", []),
        ("try:\n    import torch\nfinally:\n    pass", ["torch"]),
        ("try:\n    import torch\nexcept ImportError:\n    import jax", []),
        ("try:\n    import torch\nexcept ImportError:\n    pass\nelse:\n    import horovod.torch", []),
        ("try:\n    import torch\nexcept ImportError:\n    pass\nfinally:\n    import jax", ["jax"]),
        ("try:\n    import torch\nexcept ImportError:\n    pass\nexcept OSError:\n    import jax", ["jax"]),
        ("try:\n    read()\nexcept OSError:\n    import torch", ["torch"]),
        ("try:\n    read()\nexcept Exception:\n    import torch\nelse:\n    import jax", ["jax", "torch"]),
        ("for x in y:\n    import torch\nelse:\n    import jax", ["torch", "jax"]),
        ("while x:\n    import torch\nelse:\n    import jax", ["torch", "jax"]),
        ("with x:\n    import torch", ["torch"]),
        ("async def main():\n    async for x in y:\n        import torch", ["torch"]),
        ("match x:\n    case 1:\n        import torch\n    case _:\n        import jax", ["torch", "jax"]),
        ("class Net:\n    import torch\n    def rarely():\n        import jax", ["torch"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", []),
        ("import torchvision, numpy", []),
        ("# import torch", []),
        ("this is no Python", []),
    ],
)
def test_one_file(text: str, found: list[str], tmp_path: Path) -> None:
    assert list(imported(tmp_path, {"train.py": text})) == found


def test_except_star(tmp_path: Path) -> None:
    text = "try:\n    import torch\nexcept* OSError:\n    import jax\n"
    # Python 3.10 cannot parse the file, and skips it.
    assert list(imported(tmp_path, {"train.py": text})) == (["torch", "jax"] if sys.version_info >= (3, 11) else [])
    assert list(imported(tmp_path, {"train.py": text.replace("OSError", "ImportError")})) == []


def test_other_files_of_the_folder(tmp_path: Path) -> None:
    files = {
        "train.py": "from models.net import Net\nimport helper",
        "models/__init__.py": "",
        "models/net.py": "from . import layers",
        "models/layers.py": "import torch",
        "helper.py": "import train, jax",
        "unused.py": "import tensorflow",
    }
    assert imported(tmp_path, files) == {"jax": "helper.py", "torch": "models/layers.py"}


def test_a_file_of_the_folder_hides_the_framework_of_its_name(tmp_path: Path) -> None:
    assert imported(tmp_path, {"train.py": "import jax", "jax.py": ""}) == {}


def test_beside_a_script_in_a_sub_folder(tmp_path: Path) -> None:
    files = {"src/train.py": "import data", "src/data.py": "import torch"}
    assert imported(tmp_path, files, "src/train.py") == {"torch": "src/data.py"}


def test_a_long_chain_of_files_is_not_followed_to_its_end(tmp_path: Path) -> None:
    chain = {f"m{n}.py": f"import m{n + 1}" for n in range(MOST_FILES + 5)}
    files = {"train.py": "import m0", **chain, f"m{MOST_FILES + 5}.py": "import torch"}
    assert imported(tmp_path, files) == {}


def test_many_files_that_one_file_imports_are_searched(tmp_path: Path) -> None:
    leaves = {f"m{n}.py": "" for n in range(MOST_FILES + 5)}
    script = "import m0\n" + "".join(f"import m{n}\n" for n in range(1, MOST_FILES + 5))
    assert imported(tmp_path, {"train.py": script, **leaves, "m0.py": "import torch"}) == {"torch": "m0.py"}


def test_a_file_that_is_nested_too_deeply_is_skipped(tmp_path: Path) -> None:
    chain = "".join(f"elif x == {n}: pass\n" for n in range(1500))
    assert imported(tmp_path, {"train.py": f"import torch\nx = 1\nif x == 0: pass\n{chain}"}) == {}


def test_the_file_of_a_module() -> None:
    assert start_file("pkg.mod", {"pkg/mod.py"}) == "pkg/mod.py"
    assert start_file("pkg", {"pkg/__main__.py"}) == "pkg/__main__.py"
    assert start_file("pytest", {"train.py"}) == ""
