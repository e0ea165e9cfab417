"""docs/faults.md has a row for every fault that is tried, and a trial for every row."""

import ast
from pathlib import Path

import pytest

from tests.cluster.faults.kill_controller import StepKind, step_kind
from tests.cluster.faults.matrix import FaultRow, Outcome, fault_rows, outcome_table
from tests.cluster.scheduling import PerFileScheduling

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tests" / "cluster"
FILES = [
    *sorted((ROOT / "tests" / "chaos").glob("test_*.py")),
    CLUSTER / "test_faults.py",
    CLUSTER / "test_training_faults.py",
]


def faults_in(path: Path) -> list[str]:
    found = ast.parse(path.read_text(encoding="utf-8")).body
    return [
        node.name.removeprefix("test_")
        for node in found
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def test_every_fault_that_is_tried_has_its_row_and_the_other_way_round() -> None:
    tried = [name for path in FILES for name in faults_in(path)]
    assert sorted(tried) == sorted(fault_rows())
    assert len(tried) >= 40


def test_every_cell_of_a_row_says_something() -> None:
    empty = {row.id for row in fault_rows().values() if not all(vars(row).values())}
    assert empty == set()


def test_a_row_that_stands_twice_is_an_error() -> None:
    line = "| `one` | a | b | c | – |\n"
    with pytest.raises(ValueError, match="one"):
        fault_rows(line * 2)
    with pytest.raises(ValueError, match="one"):
        fault_rows("| `one` | a | b | – |\n")


def test_the_table_of_a_run_has_what_was_tried_in_the_order_of_the_page() -> None:
    known = {name: FaultRow(name, f"fault {name}", "a promise", "seen", "–") for name in ("one", "two", "six")}
    shown = outcome_table(known, {"six": Outcome(True, 2.04), "one": Outcome(False)})
    assert shown == [
        "fault      what is promised  reaction",
        "fault one  a promise         –         FAILED",
        "fault six  a promise         2.0 s     ok",
    ]


def test_of_a_fault_that_is_tried_twice_the_table_tells_the_worst() -> None:
    assert Outcome(False).worst_of(Outcome(True, 2.0)) == Outcome(False, 2.0)
    assert Outcome(True, 3.0).worst_of(Outcome(True, 2.0)) == Outcome(True, 3.0)
    assert Outcome(True).worst_of(Outcome(True)) == Outcome(True)


def test_steps_of_one_kind_are_known_in_the_plan_and_in_the_progress() -> None:
    planned = step_kind("containers h1            create hvdocker-lab-gate-y5vn from doc-hvd:base, port 12345")
    begun = step_kind("containers h2           create hvdocker-lab-gate-ox3t from doc-hvd:base, port 12346\n")
    assert planned == begun == StepKind("containers", False, "create hvdocker-lab-gate-* from doc-hvd:base, port *")
    assert step_kind("files      this machine make a client key") == StepKind("files", True, "make a client key")
    assert step_kind("") is None


def test_faults_of_one_launcher_run_in_one_process() -> None:
    scheduling = PerFileScheduling.__new__(PerFileScheduling)
    faults = [scheduling._split_scope(f"tests/chaos/test_launchers.py::test_{name}[torch]") for name in ("one", "two")]
    assert faults[0] == faults[1] != scheduling._split_scope("tests/chaos/test_launchers.py::test_one[each]")
    single = [scheduling._split_scope(f"tests/chaos/test_power.py::test_{name}") for name in ("one", "two")]
    assert single[0] != single[1]
