"""Reads YAML text into plain values with the line of each value, so that a problem can name its line. Pure.

`yaml.compose` is not used, because it recurses without a limit and does not bound how often aliases repeat a value.
`_Composer` builds the nodes from the parser's events instead. It limits the depth and the number of values, so that
endless brackets or aliases of aliases cannot take long."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from hvdocker.errors import InventoryError
from hvdocker.inventory.safe_text import printable, shortened

KeyPath = tuple[str | int, ...]

MOST_DEPTH = 20
MOST_VALUES = 100_000
MOST_PROBLEM = 240
MOST_LINE = 60

_TAG_PREFIX = "tag:yaml.org,2002:"
_TEXT_TAGS = ("str", "timestamp", "value", "merge")
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
# Only plain decimal numbers count as numbers. The others of YAML 1.1 (octal 022, hexadecimal, 1_000, 12:30 as
# minutes) stay text, and so do numbers too long for any setting.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})")
_RESOLVER: Any = yaml.resolver.Resolver()  # Any: it carries no types
# The C parser is thirty times as fast, if PyYAML was built with it.
_FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Document:
    """The value of a YAML file, and the problems found so far.

    `lines` has the line number of every path. `texts` has numbers and booleans as they are spelled in the file, for
    settings in which an unquoted 1.50 is meant as text. `complaints` has the problems, each with its line."""

    value: object = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    texts: dict[KeyPath, str] = field(default_factory=dict)
    complaints: list[tuple[float, str]] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """The problems in the order of the file's lines; those of keys that are missing come last."""
        return [text for _, text in sorted(self.complaints, key=lambda complaint: complaint[0])]

    def where(self, path: KeyPath) -> str:
        """Return the path with its line for a message: `hosts/1/port (line 14)`.

        The line is left out if it is unknown."""
        shown = "/".join(shortened(printable(str(part)), 60) for part in path) or "inventory"
        line = self.lines.get(path)
        return f"{shown} (line {line})" if line else shown

    def complain(self, path: KeyPath, text: str) -> None:
        """Add a problem: the path with its line, and `text`, such as `should be text, got a list`."""
        shown = shortened(f"{self.where(path)}: {printable(text)}", MOST_PROBLEM)
        self.complaints.append((self.lines.get(path, math.inf), shown))


@dataclass(eq=False)
class _Node:
    """One node of the YAML tree. `tag` is its YAML tag, and `line` its line in the file. `value` is text if
    `kind` is str, a list of nodes if it is seq, and a list of (key, value) pairs of nodes if it is map.

    `size` counts the node and all nodes inside it; a node that is used through several aliases counts each time."""

    tag: str
    value: Any  # Any: as `kind` says
    line: int
    kind: str = "str"
    size: int = 1


class _TooLarge(Exception):
    """The document is nested too deep or has too many values."""


def read_yaml(text: str, source: str) -> Document:
    """Read one YAML document. An empty text gives a document whose value is None.

    Raises InventoryError, which names `source` (the file or flag, for the user), if the text is not valid
    YAML or is too large. Other problems, such as duplicate keys, are collected in `problems` of the document."""
    document = Document()
    try:
        root = _Composer(_events(text)).document()
        if root is not None:
            document.value = _convert(root, (), document)
    except yaml.YAMLError as error:
        raise InventoryError(source, [_syntax_problem(error, text)]) from error
    except _TooLarge as error:
        raise InventoryError(source, [str(error)]) from error
    return document


def _events(text: str) -> Iterator[Any]:
    """Yield the events of the C parser, or of the slow parser if PyYAML lacks the C parser.

    If the C parser fails, the text is parsed again with the slow parser, and its error is raised, which has a better
    message. Events are `Any` because PyYAML has no types for them."""
    try:
        yield from yaml.parse(text, Loader=_FAST_LOADER)
    except yaml.YAMLError:
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass
        raise


def _syntax_problem(error: yaml.YAMLError, text: str) -> str:
    """Return the message for text that is not valid YAML: the line number, what is wrong, and the text of the line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    problem = shortened(printable(problem), MOST_PROBLEM)
    if not mark:
        return f"inventory: not YAML: {problem}"
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if line[: len(line) - len(line.lstrip())].count("\t"):
        problem = "a tab; YAML wants spaces"
    elif problem == "mapping values are not allowed here":
        problem = "wrong indentation, or a second `:` in a line"
    shown = f": {shortened(printable(line), MOST_LINE)}" if line.strip() else ""
    return f"line {mark.line + 1}: not YAML: {problem}{shown}"


class _Composer:
    """Composes a tree of nodes from the events of a YAML parser. Raises _TooLarge if the document is nested too deep
    or has too many values."""

    def __init__(self, events: Iterator[Any]) -> None:
        """Take the events of which the tree is made. They are `Any` because their types depend on the parser."""
        self._events = events
        self._anchors: dict[str, _Node] = {}
        self._depth = 0

    def document(self) -> _Node | None:
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        root = self._node(next(self._events))
        next(self._events)  # the document's end
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise _yaml_error("but found another document", after)
        return root

    def _node(self, event: Any) -> _Node:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _yaml_error(f"found undefined alias '{event.anchor}'", event)
            return self._anchors[event.anchor]
        node = _empty_node(event)
        if event.anchor:
            self._anchors[event.anchor] = node
        if node.kind != "str":
            self._depth += 1
            if self._depth > MOST_DEPTH:
                raise _TooLarge(f"line {node.line}: nested more than {MOST_DEPTH} deep")
            node.value = list(self._pairs(node) if node.kind == "map" else self._items(node))
            self._depth -= 1
        return node

    def _items(self, above: _Node) -> Iterator[_Node]:
        for event in self._events:
            if isinstance(event, yaml.CollectionEndEvent):
                return
            node = self._node(event)
            above.size += node.size
            if above.size > MOST_VALUES:
                where = f"line {event.start_mark.line + 1}"
                raise _TooLarge(f"{where}: more than {MOST_VALUES:,} values; aliases count every time")
            yield node

    def _pairs(self, above: _Node) -> Iterator[tuple[_Node, _Node]]:
        items = self._items(above)
        for key in items:
            yield key, next(items)


def _yaml_error(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, problem, event.start_mark)


def _empty_node(event: Any) -> _Node:
    line, tag = event.start_mark.line + 1, event.tag if event.tag != "!" else None
    if isinstance(event, yaml.ScalarEvent):
        return _Node(tag or _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit), event.value, line)
    kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
    return _Node(tag or _TAG_PREFIX + kind, [], line, kind)


def _convert(node: _Node, path: KeyPath, document: Document, above: tuple[_Node, ...] = ()) -> object:
    document.lines.setdefault(path, node.line)
    if any(node is one for one in above):
        document.complain(path, "this alias contains itself")
        return None
    if not _is_known(node):
        document.complain(path, f"the tag {_shown_tag(node)} is not understood")
        return None
    inside = (*above, node)
    if node.kind == "map":
        return _mapping(node, path, document, inside)
    if node.kind == "seq":
        return [_convert(item, (*path, index), document, inside) for index, item in enumerate(node.value)]
    return _scalar(node, path, document)


def _is_known(node: _Node) -> bool:
    kinds = (*_TEXT_TAGS, "null", "bool", "int", "float") if node.kind == "str" else (node.kind,)
    return node.tag.startswith(_TAG_PREFIX) and node.tag.removeprefix(_TAG_PREFIX) in kinds


def _shown_tag(node: _Node) -> str:
    return f"!!{node.tag.removeprefix(_TAG_PREFIX)}" if node.tag.startswith(_TAG_PREFIX) else str(node.tag)


def _scalar(node: _Node, path: KeyPath, document: Document) -> object:
    """Return the value of a scalar: None, a boolean, a decimal number or text. `path` is its place in the document.

    Dates, octal numbers and other special YAML types stay text. For text with a surrogate, return None and add a
    problem to `document`. The spelling of a boolean or number is put into `document.texts`."""
    text: str = node.value
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        document.complain(path, "contains half a character (a surrogate)")
        return None
    kind = node.tag.removeprefix(_TAG_PREFIX)
    if kind == "null":
        return None
    value: object = text
    if kind == "bool":
        value = _BOOLEANS.get(text.lower(), text)
        if value is text:
            document.complain(path, f'the tag !!bool does not fit "{text}"')
    elif kind == "int" and _WHOLE.fullmatch(text):
        value = int(text)
    elif kind == "float" and _NUMBER.fullmatch(text):
        value = float(text)
    if not isinstance(value, str):
        document.texts[path] = text
    return value


def _mapping(node: _Node, path: KeyPath, document: Document, above: tuple[_Node, ...]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        line = key_node.line
        problem = _key_problem(key_node)
        if problem:
            shown = f"{document.where(path).split(' (')[0]} (line {line}): {problem}"
            document.complaints.append((line, shown))
            continue
        here = (*path, key_node.value)
        if key_node.value in values:
            first = document.lines[here]
            document.lines[here] = line
            document.complain(here, f"this key stands twice, first on line {first}")
            document.lines[here] = first
            continue
        document.lines[here] = line
        values[key_node.value] = _convert(value_node, here, document, above)
    return values


def _key_problem(node: _Node) -> str | None:
    if node.kind != "str" or not _is_known(node):
        return "a key should be plain text"
    if any("\ud800" <= letter <= "\udfff" for letter in node.value):
        return "a key contains half a character (a surrogate)"
    if node.tag == f"{_TAG_PREFIX}merge":
        return "merging with << is not understood; name the alias where it is used, as in `ssh: *login`"
    return None
