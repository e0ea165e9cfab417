import pytest

from hvdocker.errors import HostErrors, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.hosts.pool import Outcomes, each


def test_every_hosts_outcome_in_the_order_asked() -> None:
    def work(name: str) -> str:
        if name == "b":
            raise HostUnfit("no engine")
        return name.upper()

    outcomes = each(["c", "b", "a"], work)
    assert outcomes.done == {"c": "C", "a": "A"}
    assert [str(error) for error in outcomes.failed.values()] == ["b: no engine"]


def test_nothing_to_do() -> None:
    assert each([], lambda name: name) == Outcomes({}, {})


def test_a_bug_is_not_hidden_among_host_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        each(["a"], lambda name: 1 // 0)


def test_one_failure_is_itself_and_several_are_a_group() -> None:
    one = Outcomes({}, {"a": HostUnfit("x", host="a")})
    with pytest.raises(HostUnfit):
        one.or_raise("together")
    two = Outcomes({}, {"a": HostUnfit("x", host="a"), "b": HostUnreachable("y", host="b")})
    with pytest.raises(HostErrors, match="together") as caught:
        two.or_raise("together")
    assert caught.value.exit_code == 4
    assert Outcomes({"a": 1}, {}).or_raise("x") == {"a": 1}


def test_an_error_that_names_its_host_keeps_it() -> None:
    def work(name: str) -> None:
        raise HvdockerError("x", host="jump")

    assert str(each(["a"], work).failed["a"]) == "jump: x"
