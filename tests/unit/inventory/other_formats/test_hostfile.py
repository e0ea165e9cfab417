"""Hostfiles of the launchers and schedulers that write them become entries of an inventory."""

import pytest

from hvdocker.inventory.other_formats import other_format


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        # Open MPI, Horovod, DeepSpeed
        ("gpu-a slots=4 max-slots=4\ngpu-b slots=8\n", ["{host: gpu-a, slots: 4}", "{host: gpu-b, slots: 8}"]),
        # MPICH
        ("gpu-a:4\ngpu-b:128 binding=rr\n", ["{host: gpu-a, slots: 4}", "{host: gpu-b, slots: 128}"]),
        # a port
        ("a:2222\nb:22\n", ["{host: a, ssh: {port: 2222}}", "{host: b, ssh: {port: 22}}"]),
        ("kim@a:24 slots=4\n", ["{host: kim@a, slots: 4, ssh: {port: 24}}"]),
        ("a:2222\na:2223\n", ["{host: a, ssh: {port: 2222}}", "{host: a, name: a-2223, ssh: {port: 2223}}"]),
        ("[fd00::1]:2222\nfd00::2\n", ['{host: "fd00::1", ssh: {port: 2222}}', '"fd00::2"']),
        # scontrol show hostnames
        ("node01\r\nnode02\r\n", ["node01", "node02"]),
        # PBS: a line for each slot
        ("a\na\nb\na\n", ["{host: a, slots: 3}", "{host: b, slots: 1}"]),
        ("node[01-03,07]\n", ["node01", "node02", "node03", "node07"]),
        ("node[09:10].lab slots=2\n", ["{host: node09.lab, slots: 2}", "{host: node10.lab, slots: 2}"]),
        ("\ufeffa slots=4 # rack 7\n; a comment\n", ["{host: a, slots: 4}"]),
    ],
)
def test_hosts_and_slots(text: str, entries: list[str]) -> None:
    found = other_format(text)
    assert found and (found.name, list(found.entries)) == ("a hostfile", entries)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a slots=4 max_slots=8\nb slots=1 max_slots=8\n", "max_slots is left out: an inventory has no such key"),
        ("a slots=0\nb slots=1\n", "a is left out: it has no slots"),
        ("a:2222\nb:2222\n", "2222 behind a host is read as its port; slots of that number: gpu-a slots=N"),
        ("a\nkim@a\n", "a is left out: it is the same host as a"),
    ],
)
def test_what_is_left_out_or_has_two_meanings_is_named_once(text: str, note: str) -> None:
    found = other_format(text)
    assert found and found.notes == (note,)


@pytest.mark.parametrize("line", ["a b", "a slot=4", "a slots=four", "a:123456", "@a", "a,b", "a[1:", "-x"])
def test_another_line_is_no_host(line: str) -> None:
    assert other_format(f"gpu-a slots=4\n{line}\n") is None


def test_more_lines_than_hosts_count_as_slots() -> None:
    found = other_format("a\nb\n" * 6_000)
    assert found and found.entries == ("{host: a, slots: 6000}", "{host: b, slots: 6000}")


def test_ranges_without_end_stay_small_and_say_so() -> None:
    found = other_format("".join(f"gpu{number}-[0:999999]\n" for number in range(2000)))
    assert found and len(found.entries) == 10_000
    assert found.notes == ("only the first 10,000 lines are taken",)
