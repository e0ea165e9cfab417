"""The folder list is the product: who may import whom, what is pure, how long things may get."""

import ast
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "hvdocker"
FILES = sorted(PACKAGE.rglob("*.py"))
INSIDE = ROOT / "images" / "doc-hvd" / "lib" / "inside"

# Plain values: everybody may import these.
GROUND = ("errors", "names", "units", "secret", "events")
# From the ground up: a package may import those that its row names, which stand above it here, and itself.
MAY_IMPORT = {
    "assets": "",
    "shell": "",
    "protocol": "",
    "launchers": "protocol",
    "env": "",
    "inventory": "protocol launchers env",
    "transport": "shell env inventory",
    "engine": "shell transport",
    "observe": "shell protocol inventory transport engine",
    "locks": "shell env inventory transport observe",
    "plan": "assets inventory transport engine",
    "placement": "protocol env inventory transport observe",
    "images": "assets shell protocol launchers env inventory transport engine observe locks plan placement",
    "sync": "shell transport plan",
    "jobs": "shell protocol env inventory transport engine observe locks plan placement sync launchers",
    "cluster": "shell protocol env inventory transport engine observe locks plan placement images sync jobs",
    "gc": "shell env inventory transport engine observe locks plan images jobs cluster",
    "doctor": "assets shell launchers env inventory transport engine observe locks placement images sync cluster",
    "hooks": "env inventory",
    "training": "shell protocol env inventory transport engine observe locks plan placement images sync "
    "launchers jobs cluster doctor hooks",
    "demo": "assets env inventory cluster",
    "script": "assets shell protocol inventory transport engine observe plan images sync jobs cluster "
    "training",
    "console": "protocol inventory observe locks plan placement images jobs cluster doctor training demo",
    "cli": "env inventory observe locks plan placement images launchers jobs cluster gc doctor hooks "
    "training demo script console",
    "__main__": "cli",
}  # fmt: skip
# The programs in the image, from the ground up.
INSIDE_MAY_IMPORT = {
    "runtime": "",
    "launchers": "runtime",
    "rank": "runtime launchers",
    "checks": "runtime",
    "hang": "runtime launchers rank",
    "spawner": "runtime launchers rank",
    "supervisor": "runtime launchers rank checks hang",
}
# Files with a word of Horovod's: all of it is behind the base class of launchers.
MOST_FILES_WITH_HOROVOD = {"hvdocker": 6, "lib": 6}
HOROVODS_WORD = re.compile(r"horovod|gloo|(?<!c)ompi", re.IGNORECASE)
# Library → the only folders, or single files, that may import it.
OWNERS = {
    "typer": "cli", "click": "cli", "rich": "console", "jinja2": "cluster/containers/ssh_files.py",
    "yaml": "inventory", "fabric": "transport/ssh", "invoke": "transport/ssh",
    "cryptography": "transport/ssh",
    "paramiko": "transport/ssh transport/errors.py inventory/ssh_config",
    "requests": "transport", "urllib3": "transport", "zstandard": "sync images/ship",
    "subprocess": "transport/local_link.py transport/ssh/openssh demo/own_command.py hooks/run_hook.py "
    "jobs/capsule/git.py images/build/base_image.py images/build/wheel_cache.py "
    "inventory/ssh_config/match.py inventory/ssh_config/keywords.py sync/ignore_files.py",
    "socket": "transport inventory/ssh_config/match.py",
    # All but the first three are to ask engine/ instead.
    "docker": "engine transport images observe plan/apply.py jobs/actions.py jobs/job_container.py "
    "cluster/removal_actions.py cluster/worker_actions.py doctor/facts/gather.py "
    "doctor/facts/trial_container.py doctor/pairs/probe_containers.py gc/observe.py",
}  # fmt: skip
# Modules that reach nothing of the world, neither by themselves nor by what they import: values, words for a
# shell, decisions. `*` is all of a folder.
PURE = {
    ".": "errors events names secret units",
    "shell": "*", "protocol": "*", "launchers": "*",
    "inventory": "config_text field_reader fields inventory menu_choice origin parse redact safe_text schema "
    "select_hosts template yaml_document",
    "inventory/other_formats": "*", "inventory/ssh_config": "patterns",
    "transport/ssh": "command_line framing", "transport/ssh/openssh": "arguments choice",
    "engine": "container_commands container_spec file_spec",
    "observe": "clock cluster_image gpu gpu_query probe state",
    "locks": "holder lock_takeover_commands owner ticket ticket_commands tmp_folder",
    "plan": "plan",
    "placement": "host_plan leases offers scope scope_label slot_flags slots", "placement/strategies": "*",
    "images": "check_rules frameworks image_format image_list plan requirements steps targets",
    "images/build": "from_commands labels layer_commands wheel_names",
    "images/ship": "resumable_parts", "images/fan_out": "capabilities commands",
    "sync": "codec commands file_errors ignore_rules steps tree wildmatch",
    "jobs": "history job_spec outcome steps", "jobs/capsule": "capsule difference patch", "jobs/log": "rank_logs",
    "jobs/results": "code_files commands",
    "jobs/secrets": "plan steps",
    "cluster": "steps unreachable_host", "cluster/plan": "*", "cluster/containers": "*",
    "gc": "commands leftovers plan",
    "doctor": "report", "doctor/judges": "*",
    "doctor/facts": "commands facts interfaces parse_machine trial_commands",
    "doctor/pairs": "commands judge mtu_and_speed pair_results reachability round_robin skip_reasons",
    "training": "steps", "training/inputs": "job_environment resilience_flags", "training/plan": "*",
    "script": "images join writer",
    "console": "messages sanitize",
    "cli": "synonyms typed_words", "cli/flags": "panels", "cli/pages": "root_page",
}  # fmt: skip
IMPURE = {
    "os", "time", "random", "secrets", "datetime", "getpass", "threading", "tempfile", "shutil", "uuid",
    "pwd", "concurrent", "importlib", *OWNERS,
} - {"yaml", "jinja2"}  # fmt: skip
# The seam to a host: code with a link may act.
SEAM = "transport.link"
# Verbs that do all their work in cli.
ABOUT_THE_COMMAND_LINE = ("completion",)
# One file per verb, or per thing that is shown: as many as there are.
AS_MANY_AS_THERE_ARE = ("cli", "console/views")
MOST_FILES = 18


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


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


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
            yield Import(file, target, getattr(node, "lineno", 0), node in for_types)


def targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        module = node.module or ""
        return [f"{module}.{alias.name}" if is_package(module) else module for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return [word.value for word in node.args if isinstance(word, ast.Constant)]
    return []


def is_package(module: str) -> bool:
    """`from hvdocker.plan import steps` means the module plan.steps."""
    return (ROOT / module.replace(".", "/")).is_dir()


ALL = [found for file in FILES for found in imports(file)]


def test_every_package_is_known() -> None:
    assert {room_of(file) for file in FILES} - {"__init__"} == {*MAY_IMPORT, *GROUND}


def test_the_table_is_a_ladder() -> None:
    """So that no two packages ever need each other."""
    place = {room: number for number, room in enumerate(MAY_IMPORT)}
    wanted = [(room, word) for room, words in MAY_IMPORT.items() for word in words.split()]
    assert [pair for pair in wanted if place[pair[1]] >= place[pair[0]]] == []


def test_imports_go_one_way() -> None:
    wrong = []
    for found in ALL:
        first = found.target.removeprefix("hvdocker.").partition(".")[0]
        if not found.target.startswith("hvdocker.") or first == "__version__":
            continue
        if first not in (*MAY_IMPORT.get(found.room, "").split(), found.room, *GROUND):
            wrong.append(str(found))
    assert wrong == []


def test_libraries_have_one_home() -> None:
    wrong = []
    for found in ALL:
        homes = OWNERS.get(found.target.partition(".")[0])
        path = found.file.relative_to(PACKAGE).as_posix()
        if homes and not any(path == home or path.startswith(f"{home}/") for home in homes.split()):
            wrong.append(str(found))
    assert wrong == []


def test_what_is_pure_stays_pure_and_is_named() -> None:
    reached = reaching_the_world()
    derived = {module_of(file) for file in FILES if file.name != "__init__.py"} - set(reached)
    declared = {name for folder, words in PURE.items() for name in modules_named(folder, words)}
    lost = [f"{name} {reached.get(name, 'is not there')}" for name in sorted(declared - derived)]
    assert (lost, derived - declared) == ([], set())


def modules_named(folder: str, words: str) -> set[str]:
    stems = [file.stem for file in (PACKAGE / folder).glob("*.py")] if words == "*" else words.split()
    before = "" if folder == "." else f"{folder.replace('/', '.')}."
    return {before + stem for stem in stems} - {f"{before}__init__"}


def reaching_the_world() -> dict[str, str]:
    """Modules by the way that leads to an effect."""
    known = {module_of(file) for file in FILES}
    found = {SEAM: "has a link to a host"}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and is_reading(node.func):
                found.setdefault(module_of(file), f"opens something in line {node.lineno}")
    needs = defaultdict(set)
    for one in ALL:
        if one.is_for_types and one.target != f"hvdocker.{SEAM}":
            continue
        if (library := one.target.partition(".")[0]) in IMPURE:
            found.setdefault(module_of(one.file), f"imports {library}")
        elif (target := one.target.removeprefix("hvdocker.")) in known:
            needs[module_of(one.file)].add(target)
    while more := {one: f"by {other}, which {found[other]}"
                   for one, others in needs.items() if one not in found
                   for other in others if other in found}:  # fmt: skip
        found |= more
    return found


def is_reading(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ("open", "print", "input")
    return isinstance(function, ast.Attribute) and function.attr in (
        "read_text",
        "write_text",
        "read_bytes",
        "write_bytes",
        "cwd",
        "is_file",
        "is_dir",
    )


def test_folders_are_small() -> None:
    counts = Counter(file.parent.relative_to(PACKAGE).as_posix() for file in FILES)
    full = {folder: count for folder, count in counts.items() if count > MOST_FILES}
    assert set(full) <= set(AS_MANY_AS_THERE_ARE), full


def test_a_verb_has_a_file_of_its_name() -> None:
    """`hvdocker fetch` is cli/fetch.py, and does its work in one other fetch.py; a verb about the command line itself
    does it in cli."""
    from hvdocker.cli.verb_table import VERBS

    homes = {
        verb: [
            file.relative_to(PACKAGE).as_posix()
            for file in PACKAGE.glob(f"*/{verb}.py")
            if room_of(file) not in ("cli", "console")
        ]
        for verb in VERBS
        if verb not in ABOUT_THE_COMMAND_LINE
    }
    assert {verb: files for verb, files in homes.items() if len(files) != 1} == {}


@pytest.mark.parametrize("tree", [PACKAGE, INSIDE], ids=["hvdocker", "inside"])
def test_no_class_name_is_used_twice(tree: Path) -> None:
    homes = defaultdict(list)
    for file in sorted(tree.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{file.relative_to(tree)}:{node.lineno}")
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_imports_in_the_image_go_one_way() -> None:
    """Each folder may import those named here, and itself: runtime, then what is built on it."""
    wrong = []
    for file in sorted(INSIDE.rglob("*.py")):
        room = file.relative_to(INSIDE).parts[0]
        allowed = (room, *INSIDE_MAY_IMPORT.get(room, "").split())
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for target in targets_in_image(node):
                if target not in allowed:
                    wrong.append(f"{file.relative_to(INSIDE)}:{getattr(node, 'lineno', 0)} imports {target}")
    assert wrong == []


def test_the_image_imports_nothing_of_the_controller_but_the_protocol() -> None:
    """The build puts hvdocker/protocol into the image, and nothing else of hvdocker."""
    wrong = [
        f"{found.relative_to(ROOT)} imports {target}"
        for found in (*sorted(INSIDE.rglob("*.py")), *sorted((PACKAGE / "protocol").rglob("*.py")))
        for node in ast.walk(ast.parse(found.read_text(encoding="utf-8")))
        for target in targets(node)
        if target.startswith("hvdocker") and not target.startswith("hvdocker.protocol.")
    ]
    assert wrong == []


@pytest.mark.parametrize("tree", [PACKAGE, INSIDE.parent], ids=["hvdocker", "lib"])
def test_few_files_know_horovod(tree: Path) -> None:
    known = [
        str(file.relative_to(tree))
        for file in sorted(tree.rglob("*.py"))
        if HOROVODS_WORD.search(file.read_text(encoding="utf-8"))
    ]
    assert len(known) <= MOST_FILES_WITH_HOROVOD[tree.name], known


def targets_in_image(node: ast.AST) -> list[str]:
    """Return the folders of inside/ that an import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module == "inside":
        names = [f"inside.{alias.name}" for alias in node.names]
    else:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return [name.split(".")[1] for name in names if name.startswith("inside.")]


def test_folders_in_the_image_are_small() -> None:
    counts = Counter(file.parent.relative_to(INSIDE).as_posix() for file in INSIDE.rglob("*.py"))
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_fabrics_env_is_never_used() -> None:
    """It pastes values into a shell unescaped."""
    wrong = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and may_be_fabric(file, node.func)
        for keyword in node.keywords
        if keyword.arg in ("env", "shell")
    ]
    assert wrong == []


def may_be_fabric(file: Path, function: ast.expr) -> bool:
    """In transport/ every call, elsewhere a method that runs a command: `link.run`, `connection.sudo`.

    A program on this machine, by subprocess, is given its environment as it is."""
    if ast.unparse(function).startswith("subprocess."):
        return False
    is_run = isinstance(function, ast.Attribute) and function.attr in ("run", "sudo", "local", "stream")
    return room_of(file) == "transport" or is_run


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(file) for file in FILES if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))]
    assert silent == []


# Stand for any file in "to add a verb, touch cli/VERB.py".
PLACEHOLDERS = {"V.py", "VERB.py", "N.py"}


def test_files_named_in_docstrings_exist() -> None:
    """A docstring that sends a reader to a file that was renamed or merged is worse than none."""
    known = {file.name for folder in ("hvdocker", "images", "tests") for file in (ROOT / folder).rglob("*.py")}
    stale = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in (*FILES, *sorted(INSIDE.rglob("*.py")))
        for docstring in docstrings(file)
        for name in re.findall(r"\w+\.py\b", docstring)
        if not name.startswith("_") and name not in known | PLACEHOLDERS
    ]
    assert stale == []


def docstrings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""


def test_nothing_is_called_utils() -> None:
    vague = {"utils", "util", "common", "shared", "helpers", "helper", "manager", "misc"}
    assert [str(file) for file in FILES if file.stem in vague] == []


# Libraries are loaded once; then every module of ours is imported by a process that has none of ours yet.
ALONE = """
import os, sys
import docker, fabric, jinja2, paramiko, rich.console, rich.live, rich.table, typer, urllib3, yaml
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
    modules = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in FILES]
    done = subprocess.run([sys.executable, "-c", ALONE, *modules], capture_output=True, text=True, check=False)
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


@pytest.mark.parametrize("room", sorted({room_of(file) for file in FILES if file.parent != PACKAGE}))
def test_a_room_opens_with_a_sentence(room: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))
