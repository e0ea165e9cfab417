"""Makes `import keras` return Keras 2 (the tf_keras package) if TF_USE_LEGACY_KERAS is set.

TensorFlow applies that variable to `tf.keras` only. Horovod's callbacks need Keras 2 and `horovod.keras`
imports plain `keras`, so a script that mixes them needs both names to be the same module.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

ALIAS, REAL = "keras", "tf_keras"


class AliasLoader(Loader):
    """Loads a module by importing another one under both names."""

    def __init__(self, real: str) -> None:
        self.real = real
        self.real_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.real)
        self.real_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just replaced the spec of the real module by the alias's: restore it.
        module.__spec__ = self.real_spec


class LegacyKerasFinder(MetaPathFinder):
    """Resolves `keras` and `keras.*` to `tf_keras` and `tf_keras.*`."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != ALIAS and not name.startswith(ALIAS + "."):
            return None
        real = REAL + name[len(ALIAS) :]
        real_spec = importlib.util.find_spec(real)
        if real_spec is None:
            return None
        spec = ModuleSpec(name, AliasLoader(real), origin=real_spec.origin)
        spec.submodule_search_locations = real_spec.submodule_search_locations
        return spec


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether TensorFlow would use Keras 2 with this environment; the same test as its own."""
    return environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true")


def install() -> None:
    """Put the finder first in sys.meta_path, once, if the environment asks for Keras 2."""
    if is_wanted(os.environ) and not any(isinstance(f, LegacyKerasFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, LegacyKerasFinder())
