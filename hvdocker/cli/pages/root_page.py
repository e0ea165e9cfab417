"""The help page of hvdocker itself, with every verb. It fits into 24 lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

_HEAD = """\
Usage: hvdocker VERB [OPTIONS]

Distributed training on your own machines, over SSH and Docker.
Start here: hvdocker init, hvdocker up, hvdocker train train.py, hvdocker down
"""
_FOOT = """\
Options   --version  --debug  --install-completion  --show-completion
More      hvdocker VERB -h, hvdocker help VERB, hvdocker help TOPIC
          topics: {topics}
Manual    docs/index.md in the source; `make docs` there writes it as a site
"""


def root_page(groups: Mapping[str, Sequence[tuple[str, str]]], topics: Iterable[str]) -> str:
    """Return the help page of hvdocker itself.

    `groups` has the verbs of each heading, as pairs of a name and a text of at most 26 characters. `topics` are the
    words that `hvdocker help` accepts besides verbs."""
    lines = [line for title, verbs in groups.items() for line in _group(title, verbs)]
    return "\n".join([_HEAD, *lines, "", _FOOT.format(topics=", ".join(topics))])


def _group(title: str, verbs: Sequence[tuple[str, str]]) -> Iterable[str]:
    """Yield the lines for the verbs under one heading. Each line has two verbs."""
    cells = [f"{name:<7} {text}" for name, text in verbs]
    for number, (left, right) in enumerate(zip_longest(cells[::2], cells[1::2], fillvalue="")):
        yield f"{title if not number else '':<9} {left:<35} {right}".rstrip()
