"""The text of help: `layout.py` wraps rows, `verb_page.py` has the page of one verb, `root_page.py` that of hvdocker
itself, `topics.py` the pages of `hvdocker help TOPIC`. Nothing here is drawn with boxes or colours, so that a page is
the same in every version of typer."""
