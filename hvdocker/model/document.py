"""YAML text to plain values that remember their lines, so that a problem can say where it is."""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

from hvdocker.errors import InventoryError

Path = tuple[str | int, ...]

_STANDARD = "tag:yaml.org,2002:"


@dataclass
class Document:
    """The values, the line of every path, and the problems found on the way (duplicate keys)."""

    value: object = None
    lines: dict[Path, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def where(self, path: Path) -> str:
        shown = "/".join(str(part) for part in path) or "inventory"
        line = self.lines.get(path)
        return f"{shown} (line {line})" if line else shown

    def complain(self, path: Path, text: str) -> None:
        self.problems.append(f"{self.where(path)}: {text}")


def read(text: str, source: str) -> Document:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise InventoryError(source, [_syntax(error)]) from error
    document = Document()
    if root is not None:
        document.value = _convert(root, (), document)
    return document


def _syntax(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    text = getattr(error, "problem", None) or str(error)
    return f"line {mark.line + 1}: not YAML: {text}" if mark else f"not YAML: {text}"


def _convert(node: yaml.Node, path: Path, document: Document, above: tuple[yaml.Node, ...] = ()) -> object:
    document.lines.setdefault(path, node.start_mark.line + 1)
    if any(node is one for one in above):
        document.complain(path, "this alias contains itself")
        return None
    inside = (*above, node)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, document, inside)
    if isinstance(node, yaml.SequenceNode):
        return [_convert(item, (*path, index), document, inside) for index, item in enumerate(node.value)]
    return _scalar(node, path, document)


def _scalar(node: yaml.Node, path: Path, document: Document) -> object:
    """Numbers, truths and nothing as YAML says; dates and the like stay the text that they are."""
    kind = node.tag.removeprefix(_STANDARD)
    if not node.tag.startswith(_STANDARD):
        document.complain(path, f"the tag {node.tag} is not understood")
        return None
    if kind not in ("null", "bool", "int", "float"):
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except ValueError:
        return node.value


def _mapping(
    node: yaml.MappingNode, path: Path, document: Document, above: tuple[yaml.Node, ...]
) -> dict[str, object]:
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        here = (*path, key)
        line = key_node.start_mark.line + 1
        if key in values:
            document.problems.append(
                f"{'/'.join(map(str, here))} (line {line}): this key stands twice, "
                f"first on line {document.lines[here]}"
            )
            continue
        document.lines[here] = line
        values[key] = _convert(value_node, here, document, above)
    return values
