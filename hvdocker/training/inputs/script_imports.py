"""Finds out which frameworks a script imports, itself or through other files that are synced with it.

The files are parsed, never run, so the result is a guess. Optional imports (in a `try` that catches ImportError) and
imports for type checkers only are left out."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

MOST_FILES = 200
MOST_BYTES = 1 << 20
# `except*` is a statement of its own, from Python 3.11 on.
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))
_OPTIONAL = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")


def frameworks_imported(root: Path, start: str, sent: Collection[str], searched: Collection[str]) -> dict[str, str]:
    """Return, by framework, the file that imports it. `start` is the path of the script relative to `root`, the folder
    that is synced; `sent` are the relative paths of the synced files. `searched` are the frameworks to look for.

    An import that finds a synced file, such as a module `torch` of the user, does not count as a framework. At most
    MOST_FILES files are read. A file that is too large or is not valid Python is skipped."""
    found: dict[str, str] = {}
    queue, known = deque([start]), {start}
    for _ in range(MOST_FILES):
        if not queue:
            break
        path = queue.popleft()
        for module in _imports(root / path, PurePosixPath(path)):
            top = module.partition(".")[0]
            files = [file for file in _files_of(module, PurePosixPath(path).parent) if file in sent]
            if top in searched and not files:
                found.setdefault(top, path)
            queue.extend(file for file in files if file not in known)
            known.update(files)
    return found


def start_file(module: str, sent: Collection[str]) -> str:
    """Return the synced file that `python -m module` runs, or an empty text if the module is not among `sent`."""
    path = module.replace(".", "/")
    return next((file for file in (f"{path}.py", f"{path}/__main__.py") if file in sent), "")


def _files_of(module: str, folder: PurePosixPath) -> Iterator[str]:
    """Yield the relative paths of the files that an import of `module` may read: those of the module and of the
    packages that contain it. Each is searched in the synced folder and in `folder`, the folder of the importing
    file."""
    parts = module.split(".")
    for base in dict.fromkeys((PurePosixPath(), folder)):
        for count in range(1, len(parts) + 1):
            path = base.joinpath(*parts[:count])
            yield f"{path}.py"
            yield f"{path}/__init__.py"


def _imports(file: Path, path: PurePosixPath) -> Iterator[str]:
    try:
        if file.stat().st_size > MOST_BYTES:
            return
        # A list, so that a RecursionError is raised here: a long chain of `elif` is nested as deeply as it is long.
        found = [*_in_statements(ast.parse(file.read_bytes()).body, path)]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from found


def _in_statements(body: list[ast.stmt], path: PurePosixPath) -> Iterator[str]:
    """Yield the modules that the statements `body` import when they run. `path` is the path of the file, which is
    needed for relative imports. The bodies of functions other than `main` are left out, because they may never run."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name == "main":
                yield from _in_statements(node.body, path)
        elif isinstance(node, _TRY):
            yield from _in_try(node, path)
        elif isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.dump(node.test):
                yield from _in_statements(node.body, path)
            yield from _in_statements(node.orelse, path)
        else:
            yield from _in_statements(_blocks(node), path)


def _in_try(node: ast.Try, path: PurePosixPath) -> Iterator[str]:
    """Yield the modules that a `try` statement imports and the script needs. If the `try` block imports modules and an
    `except` catches ImportError, these imports are optional and left out. The imports in that `except` and in `else`
    are left out too."""
    body = list(_in_statements(node.body, path))
    is_optional = bool(body) and any(_catches_import_error(handler) for handler in node.handlers)
    if not is_optional:
        yield from body
        yield from _in_statements(node.orelse, path)
    for handler in node.handlers:
        if not (is_optional and _catches_import_error(handler)):
            yield from _in_statements(handler.body, path)
    yield from _in_statements(node.finalbody, path)


def _blocks(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements inside a `for`, `while`, `with`, `match` or `class`, including those of `else` and `case`.
    Return an empty list for a statement without inner statements."""
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            found.append(child)
        elif isinstance(child, ast.match_case):
            found += child.body
    return found


def _absolute(node: ast.ImportFrom, path: PurePosixPath) -> str:
    if not node.level:
        return node.module or ""
    above = path.parent.parts[: len(path.parent.parts) - (node.level - 1)]
    return ".".join((*above, *([node.module] if node.module else [])))


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = [node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)]
    return any(name in _OPTIONAL for name in names)
