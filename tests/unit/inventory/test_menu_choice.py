import pytest

from hvdocker.errors import UsageProblem
from hvdocker.inventory.menu_choice import parse_menu_choice

OFFERED = ["gpu-a", "gpu-b", "gpu-c", "gpu-d"]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("all", OFFERED),
        ("1,3-4", ["gpu-a", "gpu-c", "gpu-d"]),
        (" 4 , 1 ", ["gpu-d", "gpu-a"]),
        ("2 - 3", ["gpu-b", "gpu-c"]),
        ("1 gpu-a 1", ["gpu-a"]),
        ("gpu-b, kim@other", ["gpu-b", "kim@other"]),
        ("10.0.0.11", ["10.0.0.11"]),
    ],
)
def test_numbers_spans_and_names(text: str, hosts: list[str]) -> None:
    assert parse_menu_choice(text, OFFERED) == hosts


@pytest.mark.parametrize("text", ["0", "5", "3-9", "4-2"])
def test_numbers_beyond_the_list(text: str) -> None:
    with pytest.raises(UsageProblem, match="from 1 to 4"):
        parse_menu_choice(text, OFFERED)


def test_without_a_list_everything_is_a_name() -> None:
    assert parse_menu_choice("all 1", []) == ["all", "1"]


def test_a_host_that_is_called_by_a_number() -> None:
    assert parse_menu_choice("2", ["a", "b", "2"]) == ["2"]
