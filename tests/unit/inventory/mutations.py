"""Random mutations of real inventories, for fuzzing; the same ones for the same seed."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

FIXTURES = Path(__file__).parents[1] / "fixtures" / "inventories"
EXAMPLE = Path(__file__).parents[3] / "docs" / "reference" / "inventory-example.md"

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# Values that are difficult for YAML, Python or a careless reader.
ODD_VALUES = (
    "no", "on", "yes", "off", "Null", "~", "=", "<<", "0o17", "017", "0x1F", "0b101", "1_000",
    "12:30:45", "1:1",
    "190:20:30.15", "1e3", "1.0e+400", ".inf", "-.inf", ".nan", "+1", "-0", "1.", ".5", "10" * 2500,
    "0x" + "f" * 5000, "9" * 400, "1:" * 300 + "1", "2001-01-01", "2001-99-99",
    "2001-12-14t21:59:43.10-05:00",
    "!!python/object/apply:os.system [id]", "!!python/name:os.system", "!!binary aGk=", "!!set {a, b}",
    "!!omap [a: 1]", "!!timestamp 2001-01-01", "!!int x", "!!float x", "!!bool maybe", "!!null x",
    "!!str 5",
    "!mine x", "!<tag:x> y", "! 5", "&a [*a]", "*nowhere", "[[[[]]]]", "{a: {b: {c: d}}}",
    "? [a]\n: b", "''",
    '"\\ud800"', '"\\0"', '"\\x1b[31m"', '"\\u2028"', '"a\\nb"', '"\\uFEFF"', "|\n  text\n", ">-\n  text\n",
    "a b", "-oProxyCommand=x", "a@b@c", "[::1]:99999", "[::1", "fe80::1%a b", "::", "..", "~nobody-here/x",
    "/a:/b:/c", "/a:/b/../train", "/a:/", "$(id)", "`id`", "%s%n", "{{7*7}}", "é", "한국어", "𝕏",
    "a" * 5000, "1" * 30,
    "true", "1.10", "0755", "٣", "²", "18446744073709551616", "-1", "1e-7", "0.0000001", "16 GB",
    "0", "1PB",
)  # fmt: skip
SNIPPETS = (
    b"\t", b"\r\n", b"\r", b"\n\n", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\x00", b"\x1b[2J", b"\xc2\x85",
    b"\xe2\x80\xa8", b"\xed\xa0\x80", b": ", b"- ", b"? ", b"&a ", b"*a", b"<<: ", b"---\n",
    b"...\n", b"%YAML 1.2\n",
    b"%TAG ! x\n", b"# ", b"|", b">", b"'", b'"', b"[", b"]", b"{", b"}", b",", b"!", b"!!", b"@",
    b"`", b"\\", b"  ",
    b"x-", b"\n  ", b"hosts:", b"ssh:", b"null", b"\x7f", b"\xc2\x9b",
)  # fmt: skip
KEYS = (
    "cluster", "image", "port", "network", "ssh", "env", "mounts", "shm", "memory", "cpus", "user",
    "keys", "registry", "gpus", "busy", "rules", "match", "then",
    "hosts", "local", "host", "name", "address", "slots", "key", "jump", "private", "public",
    "x-y", "<<", "on", "",
    "a\x1bb", "K" * 300, "1",
)  # fmt: skip


def sources() -> list[bytes]:
    """Return all inventories of the project; valid ones occur several times."""
    right, wrong = (sorted((FIXTURES / kind).glob("*.yaml")) for kind in ("right", "wrong"))
    block = EXAMPLE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    return [*(path.read_bytes() for path in (*right * 12, *wrong)), *[block.encode()] * 4]


def inventories(seed: int, count: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    texts = sources()
    trees = [tree for tree in map(_tree, texts) if isinstance(tree, dict)]
    for _ in range(count):
        if rng.random() < 0.5:
            yield _mutated_bytes(rng, rng.choice(texts), texts)
        else:
            yield _mutated_tree(rng, rng.choice(trees), trees)


def _tree(text: bytes) -> Any:
    """Return the parsed document; None if it is not YAML or contains itself."""
    try:
        return json.loads(json.dumps(yaml.safe_load(text), default=str))
    except (yaml.YAMLError, ValueError, TypeError):
        return None


def _mutated_bytes(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(BYTE_MUTATIONS)(rng, data, others)[:8192]
    return data


def _flip(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _insert(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(SNIPPETS) + data[at:]


def _cut(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:at] + data[to:] if rng.random() < 0.7 else data[:at]


def _repeat(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = rng.randrange(len(lines))
    return b"".join([*lines[:at], *[lines[at]] * rng.choice((2, 3, 200)), *lines[at + 1 :]])


def _splice(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    lines, more = data.splitlines(keepends=True), rng.choice(others).splitlines(keepends=True)
    at, to = rng.randrange(len(lines) + 1), rng.randrange(len(more) + 1)
    return b"".join([*lines[:at], *more[to:], *lines[at:]])


def _swap_value(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Replace the value after a colon by a difficult one."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    key, colon, _ = lines[at].partition(b": ")
    lines[at] = key + (colon or b": ") + rng.choice(ODD_VALUES).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def _endings(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\n\n")))


def _indent(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    return data.replace(b"  ", rng.choice((b"\t", b" ", b"    ", b"\xc2\xa0 ")))


def _encode(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp037")), "replace")


def _wrap(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    return rng.choice(
        (
            b"[" * 3000 + data,
            b"- " * 3000 + data,
            b"{a: " * 1000 + b"b" + b"}" * 1000,
            b"? " * 2000 + data,
            data + b"\n---\n" + data,
            b"!!map " + data,
            alias_bomb(rng.randrange(3, 30)) + data,
            data + b"\nx-long: " + b"a" * 4000,
            data + b"\nx-wide: [" + b"1, " * 1500 + b"1]\n",
        )
    )


BYTE_MUTATIONS: tuple[Callable[[random.Random, bytes, list[bytes]], bytes], ...] = (
    _flip, _flip, _insert, _insert, _cut, _repeat, _splice, _swap_value, _swap_value, _swap_value,
    _endings, _indent,
    _encode, _wrap,
)  # fmt: skip


def alias_bomb(levels: int, width: int = 9) -> bytes:
    """Return a "billion laughs" document: each level expands to nine times the one before."""
    lines = ["x-0: &l0 [ha]"]
    lines += [f"x-{n}: &l{n} [{', '.join([f'*l{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines).encode() + b"\n"


def _mutated_tree(rng: random.Random, tree: dict[str, Any], others: list[dict[str, Any]]) -> bytes:
    tree = json.loads(json.dumps(tree, default=str))
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(rng, tree, others)
    if rng.random() < 0.2:
        return json.dumps(tree).encode()
    style = rng.choice((None, True, False))
    text: str = yaml.dump(tree, Dumper=_DUMPER, sort_keys=False, default_flow_style=style)
    return text.encode()


def _change(rng: random.Random, tree: Any, others: list[dict[str, Any]]) -> None:
    """Change one place: another value or type, removed, duplicated, or under another key."""
    places = list(_places(tree))
    holder, key = rng.choice(places) if places else (tree, "hosts")
    kind = rng.randrange(6)
    if kind == 0 and isinstance(holder, dict) and key in holder:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice(KEYS)] = holder.get(key)
    elif kind == 2 and isinstance(holder, list):
        holder.append(holder[key])
    elif kind == 3:
        other = rng.choice(list(_places(rng.choice(others))) or [(tree, key)])
        holder[key] = other[0].get(other[1]) if isinstance(other[0], dict) else other[0][other[1]]
    else:
        holder[key] = _odd(rng)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)


def _odd(rng: random.Random) -> Any:
    return rng.choice(
        (None, True, False, 0, -1, 1, 22, 65535, 65536, 10**20, 1.5, 1e-7, float("inf"),
        float("nan"), "", [], {}, [[]],
         {"a": 1}, ["a"], [None], "a\nb", "a b", "\x7f", "𝕏", "/a:/b", "10.0.0.0/8", "::1",
         "user@h", "16GB", 10**300,
         rng.choice(ODD_VALUES))
    )  # fmt: skip
