"""Inventories: every case is a file; what it should say or become stands beside it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from hvdocker.errors import ExitCode, InventoryError
from hvdocker.inventory.parse import parse

CASES = Path(__file__).parents[1] / "fixtures" / "inventories"
WRONG = sorted((CASES / "wrong").glob("*.yaml"))
RIGHT = sorted((CASES / "right").glob("*.yaml"))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_every_problem_at_once_with_its_line(path: Path) -> None:
    with pytest.raises(InventoryError) as caught:
        parse(path.read_text(encoding="utf-8"), path.name, "here")

    wanted = path.with_suffix(".problems").read_text(encoding="utf-8").splitlines()
    assert _cut_like(caught.value.problems, wanted) == wanted
    assert caught.value.exit_code == ExitCode.USAGE


def _cut_like(problems: tuple[str, ...], wanted: list[str]) -> list[str]:
    """An expected line that ends in `…` fixes the path and the line number, but not the words."""
    ends = [line.index("…") if line.endswith("…") else None for line in wanted]
    ends += [None] * (len(problems) - len(wanted))
    return [text if end is None else f"{text[:end]}…" for text, end in zip(problems, ends, strict=False)]


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_inventory_as_a_whole_value(path: Path) -> None:
    inventory = parse(path.read_text(encoding="utf-8"), path.name, "here")

    wanted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(asdict(inventory))) == wanted


def test_the_headline_counts_the_problems() -> None:
    with pytest.raises(InventoryError) as caught:
        parse("hosts: [a, a]\nport: x\n", "lab.yaml", "here")
    assert str(caught.value) == "lab.yaml has 2 problems"
    assert caught.value.lines == caught.value.problems


def test_one_problem_is_not_plural() -> None:
    with pytest.raises(InventoryError, match=r"^lab\.yaml has 1 problem$"):
        parse("port: 1\n", "lab.yaml", "here")


def test_a_host_is_found_by_its_name() -> None:
    inventory = parse("hosts: [a, {host: b, name: two}]", "x", "here")
    assert inventory.named("two").host == "b"
    assert not inventory.is_local


@pytest.mark.parametrize("path", [*WRONG, *RIGHT], ids=lambda path: path.stem)
def test_a_case_without_an_expectation_proves_nothing(path: Path) -> None:
    suffix = ".problems" if path in WRONG else ".json"
    assert path.with_suffix(suffix).is_file()


@pytest.mark.parametrize("target", ["/runs", "/optional", "/opt/mine", "/outputs", "/training", "/etc/mine"])
def test_a_mount_beside_our_folders_is_fine(target: str) -> None:
    [mount] = parse(f"mounts: ['/mine:{target}']\nhosts: [a]", "x", "here").mounts
    assert mount.target == target
