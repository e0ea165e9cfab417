"""The folder list is the architecture: who may import whom, how long things may get."""

import ast
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "hvdocker"
FILES = sorted(PACKAGE.rglob("*.py"))

# Room → rooms (or single modules) it may import. Everyone may import errors, the version and its own room.
MAY_IMPORT = {
    "errors": (),
    "assets": (),
    "model": (),
    "commands": ("model",),
    "plan": ("commands", "model"),
    "hosts": ("plan.steps", "commands", "model", "assets"),
    "ops": ("plan", "hosts", "model", "commands", "assets"),
    "console": ("ops", "model", "plan"),
    "web": ("ops", "model"),
    "cli": ("ops", "console"),
}
# Library → the only rooms that may import it.
OWNERS = {
    "fabric": {"hosts"}, "invoke": {"hosts"}, "paramiko": {"hosts"}, "docker": {"hosts"},
    "subprocess": {"hosts"}, "requests": {"hosts"}, "urllib3": {"hosts"}, "cryptography": {"hosts"},
    "socket": {"hosts"}, "rich": {"console"}, "typer": {"cli"}, "click": {"cli"}, "jinja2": {"commands"},
}  # fmt: skip
# For type checkers only: nothing is imported when the program runs.
TYPE_ONLY = {("ops", "docker"), ("cli", "plan.steps"), ("cli", "plan.placing")}
# The SDK's own exception, where its absence is an answer.
ALLOWED = {("ops/watch.py", "docker.errors")}
PURE = ("model", "commands", "plan")
IMPURE = {"os", "time", "random", "secrets", "datetime", "getpass", "threading", "tempfile", "shutil", "uuid"}


@dataclass(frozen=True)
class Import:
    file: Path
    target: str
    line: int
    is_for_types: bool

    @property
    def room(self) -> str:
        return room_of(self.file)

    def __str__(self) -> str:
        return f"{self.file.relative_to(PACKAGE)}:{self.line} imports {self.target}"


def room_of(file: Path) -> str:
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        for target in targets(node):
            yield Import(file, target, node.lineno, node in for_types)


def targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        module = node.module or ""
        return [f"{module}.{alias.name}" if is_package(module) else module for alias in node.names]
    return []


def is_package(module: str) -> bool:
    """`from hvdocker.plan import steps` means the module plan.steps."""
    return (ROOT / module.replace(".", "/")).is_dir()


ALL = [found for file in FILES for found in imports(file)]


def within(target: str, allowed: str) -> bool:
    return target == allowed or target.startswith(f"{allowed}.")


def test_every_room_is_known() -> None:
    assert {room_of(file) for file in FILES} - {"__init__"} <= set(MAY_IMPORT)


def test_imports_go_one_way() -> None:
    wrong = []
    for found in ALL:
        target = found.target.removeprefix("hvdocker.")
        if not found.target.startswith("hvdocker.") or target == "__version__":
            continue
        allowed = (*MAY_IMPORT.get(found.room, ()), found.room, "errors")
        if found.is_for_types:
            allowed = (*allowed, *(name for room, name in TYPE_ONLY if room == found.room))
        if not any(within(target, name) for name in allowed):
            wrong.append(str(found))
    assert wrong == []


def test_libraries_have_one_room() -> None:
    wrong = []
    for found in ALL:
        library = found.target.partition(".")[0]
        if library not in OWNERS or found.room in OWNERS[library]:
            continue
        is_excused = (found.is_for_types and (found.room, library) in TYPE_ONLY) or any(
            found.file == PACKAGE / file and within(found.target, target) for file, target in ALLOWED
        )
        if not is_excused:
            wrong.append(str(found))
    assert wrong == []


def test_the_pure_rooms_read_nothing_of_the_world() -> None:
    wrong = [str(found) for found in ALL if found.room in PURE and found.target.partition(".")[0] in IMPURE]
    calls = [
        f"{file.relative_to(PACKAGE)}:{node.lineno} opens something"
        for file in FILES
        if room_of(file) in PURE
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and is_reading(node.func)
    ]
    assert wrong + calls == []


def is_reading(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ("open", "print", "input")
    return isinstance(function, ast.Attribute) and function.attr in (
        "read_text",
        "write_text",
        "read_bytes",
        "cwd",
    )


def test_fabrics_env_is_never_used() -> None:
    """It pastes values into a shell unescaped."""
    wrong = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and room_of(file) == "hosts" and not is_local(node.func)
        for keyword in node.keywords
        if keyword.arg in ("env", "shell")
    ]
    assert wrong == []


def is_local(function: ast.expr) -> bool:
    """A program on this machine is given its environment as it is."""
    return isinstance(function, ast.Attribute) and ast.unparse(function).startswith("subprocess.")


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(file) for file in FILES if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_nothing_is_called_utils() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    assert [str(file) for file in FILES if file.stem in vague] == []


# Libraries are loaded once; then every module of ours is imported by a process that has none of ours yet.
ALONE = """
import os, sys
import docker, fabric, jinja2, paramiko, pathspec, rich.console, rich.live, rich.table, typer, urllib3, yaml
import cryptography.hazmat.primitives.serialization
assert not [name for name in sys.modules if name.startswith("hvdocker")]
failed = []
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            __import__(name)
        except BaseException as error:
            print(name, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(bool(failed))
"""


def test_every_module_imports_alone() -> None:
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in FILES
    ]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *modules], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def lines_of(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def test_files_are_short() -> None:
    lengths = {str(file.relative_to(PACKAGE)): lines_of(file) for file in FILES if file.name != "__init__.py"}
    assert {name: count for name, count in lengths.items() if count >= 400} == {}
    assert statistics.median(lengths.values()) <= 115


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Of its body: a verb's signature is the table of its flags."""
    return (function.end_lineno or 0) - function.body[0].lineno + 1


def test_functions_are_short() -> None:
    lengths = {
        f"{file.relative_to(PACKAGE)}:{function.name}": length(function)
        for file in FILES
        for function in functions(file)
    }
    assert {name: count for name, count in lengths.items() if count > 60} == {}
    assert statistics.median(lengths.values()) <= 12
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= 30


@pytest.mark.parametrize("room", sorted({room_of(file) for file in FILES} - {"__init__", "errors", "assets"}))
def test_a_room_opens_with_a_sentence(room: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))
