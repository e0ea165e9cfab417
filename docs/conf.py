"""The settings of Sphinx for `make docs`.

Pages that lie elsewhere in the repository are copied to docs/repository, and the text at the top of each package to
docs/packages; git ignores both. Links to the originals lead to the copies. The menu of the site, menu.txt, is added to
index.md only while the site is built: a Git host would show it as text."""

import ast
import os
import re
from pathlib import Path

from sphinx.application import Sphinx

from hvdocker import __version__

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
COPIED = [ROOT / name for name in ("README.md", "README.ko.md", "CONTRIBUTING.md", "CHANGELOG.md")]
COPIED += sorted((ROOT / "examples").glob("*/README.md"))
# What is added to pages: directives that put other pages into the menu, in Sphinx's own form.
TREE = "```{toctree}\n:hidden:\n:glob:\n\n%s\n```\n"
MENUS = {
    "index": (DOCS / "menu.txt").read_text(encoding="utf-8"),
    "decisions/index": TREE % "0*",
    "project/internals": TREE % "../packages/*",
}
LINK = re.compile(r"\]\((?P<path>[^()#:\s]+)(?P<anchor>#[^()\s]*)?\)")

project = "hvdocker"
copyright = "the authors of hvdocker, Apache-2.0"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True
highlight_language = "text"
smartquotes = False

html_theme = "furo"
html_title = f"hvdocker {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["custom.css"]


def copy_of(original: Path) -> Path:
    """Return where the copy of a page is: examples/torch/README.md is repository/example-torch.md."""
    is_example = original.parent != ROOT
    name = f"example-{original.parent.name}" if is_example else original.name.removesuffix(".md").lower()
    return DOCS / "repository" / f"{name}.md"


def with_links(text: str, original: Path, page: Path) -> str:
    """Return the text of a page for the place `page`, if its links were written for the place `original`."""

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(original.parent / found["path"]))
        if target in COPIED:
            target = copy_of(target)
        return f"]({os.path.relpath(target, page.parent)}{found['anchor'] or ''})"

    return LINK.sub(link, text)


def write_copies() -> None:
    for original in COPIED:
        page = copy_of(original)
        page.parent.mkdir(exist_ok=True)
        head = "---\norphan: true\n---\n\n" if original.name.startswith("README") and original.parent == ROOT else ""
        page.write_text(head + with_links(original.read_text(encoding="utf-8"), original, page), encoding="utf-8")


def write_package_pages() -> None:
    folder = DOCS / "packages"
    folder.mkdir(exist_ok=True)
    for path in [ROOT / "hvdocker" / "__init__.py", *sorted((ROOT / "hvdocker").glob("*/__init__.py"))]:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        (folder / f"{path.parent.name}.md").write_text(f"# {path.parent.name}\n\n{text}\n", encoding="utf-8")


def complete_page(app: Sphinx, name: str, content: list[str]) -> None:
    if not name.startswith(("repository/", "packages/")):
        page = DOCS / f"{name}.md"
        content[0] = with_links(content[0], page, page)
    if name in MENUS:
        content[0] = f"{content[0]}\n{MENUS[name]}"


def setup(app: Sphinx) -> None:
    write_copies()
    write_package_pages()
    app.connect("source-read", complete_page)
