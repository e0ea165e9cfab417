"""`import keras` is Keras 2 where TensorFlow was asked for it."""

import importlib
import sys
from pathlib import Path

import pytest
from legacy_keras import LegacyKerasFinder, is_wanted


@pytest.fixture
def aliased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tf_keras" / "layers"
    package.mkdir(parents=True)
    (tmp_path / "tf_keras" / "__init__.py").write_text("__version__ = '2.18.0'\n")
    (package / "__init__.py").write_text("class Dense: pass\n")
    for name in list(sys.modules):
        if name.split(".")[0] in ("keras", "tf_keras"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [LegacyKerasFinder(), *sys.meta_path])
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("aliased")
def test_both_names_are_one_module_that_keeps_its_own_name() -> None:
    for name in ("", ".layers"):
        alias, real = importlib.import_module("keras" + name), importlib.import_module("tf_keras" + name)
        assert alias is real
        assert real.__spec__ is not None
        assert real.__spec__.name == "tf_keras" + name


@pytest.mark.usefixtures("aliased")
def test_a_module_that_is_not_there_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"keras\.none"):
        importlib.import_module("keras.none")


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("True", True), ("true", True), ("0", False), ("", False)])
def test_the_variable_decides(value: str, wanted: bool) -> None:
    assert is_wanted({"TF_USE_LEGACY_KERAS": value}) is wanted
