import json
from dataclasses import replace

import pytest

from hvdocker.jobs.capsule.capsule import PATCH_MAX_BYTES_ON_ALL_HOSTS, Capsule, CapsuleFiles
from tests.unit.builders import CAPSULE


def test_a_capsule_reads_back_as_it_was_written() -> None:
    assert Capsule.read(CAPSULE.text()) == CAPSULE


def test_what_it_says() -> None:
    body = json.loads(CAPSULE.text())
    assert body["placement"] == [
        {"host": "a", "slots": 1, "devices": [], "address": "10.0.0.11"},
        {"host": "b", "slots": 2, "devices": ["GPU-1", "GPU-2"], "address": "10.0.0.12"},
    ]
    assert (body["format"], body["np"], body["versions"]) == (
        1,
        3,
        {"hvdocker": "0.1.0", "engines": {"a": "27.0", "b": "26.1"}},
    )
    assert body["secrets"] == [{"name": "TOKEN", "path": None}, {"name": "KEY", "path": "/home/ada/key"}]


def test_values_that_are_not_in_it_are_known_by_name() -> None:
    env = {"SEED": "7", "API_KEY": "***", "URL": "https://me:***@x", "EMPTY": ""}
    assert replace(CAPSULE, env=env).hidden() == ("API_KEY", "URL")


@pytest.mark.parametrize(
    "change",
    [
        {"job": None, "code": None},
        {"placement": "a:1"},
        {"placement": [{"host": "a"}]},
        {"command": "rm -rf /"},
        {"started": "yesterday"},
        {"code": {"hash": "x", "git": {"commit": "--upload-pack=evil"}}},
        {"code": {"hash": "x", "git": {"commit": "a" * 40, "prefix": "../../etc/"}}},
        {"code": {"hash": "x", "git": {"commit": "a" * 40, "prefix": "/etc/"}}},
        {"env": ["x"]},
        {"request": 7},
    ],
)
def test_a_host_may_say_anything(change: dict[str, object]) -> None:
    assert Capsule.read(json.dumps({**CAPSULE.as_json(), **change})) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 100_000])
def test_what_is_no_capsule_is_none(text: str) -> None:
    assert Capsule.read(text) is None


def test_a_large_patch_lies_on_the_heads_host_only() -> None:
    small, large = b"x" * PATCH_MAX_BYTES_ON_ALL_HOSTS, b"x" * (PATCH_MAX_BYTES_ON_ALL_HOSTS + 1)
    assert [CapsuleFiles(CAPSULE, small).patch_on(host) for host in "ab"] == [small, small]
    assert [CapsuleFiles(CAPSULE, large).patch_on(host) for host in "ab"] == [large, b""]
