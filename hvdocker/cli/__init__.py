"""The command line: one thin file per verb (subcommand), and the only package that imports typer.

`main.py` is the entry point. It splits off the words after `--`, runs the typer app of `app.py`, and turns errors
into messages and exit codes. `verb_table.py` lists the verbs and imports only the file of the verb that the command
line names. The file of a verb parses the flags, calls the function that does the work in another package (cli/up.py
calls cluster/up.py), and gives the report to console/views/. Both packages are imported inside the function, so that
`--help` stays fast. Flags that several verbs use are in `flags/`. `env_and_progress` in `verb_setup.py` makes the
Env of a verb (folders, variables, clock, questions) and shows the events of the verb.

`verb_command.py` is the class of all verbs: it takes the inventory as first argument. `pages/` writes the help.
`usage_errors.py`, `job_words.py` and `synonyms.py` turn mistakes on the command line into errors with the next step.
`completers.py` has the words that a shell offers after TAB.

The docstring of a command function is its help text, with at least one example that begins with `hvdocker V`. The
heading of an option is its `rich_help_panel`; headings are in flags/panels.py.

To add a verb, write cli/V.py, add it to VERBS in verb_table.py, write SUBJECT/V.py, and write console/views/V.py if
the verb shows a table. Add the verb to the README."""

from atexit import register
from gc import freeze, set_threshold  # not `import gc`, which would hide the verb's module

# Starting a verb creates about 110,000 objects and frees few, so a collection finds nothing. With the default of 700,
# collections take a tenth of that time; a single one takes 30 ms.
set_threshold(250_000)
# At its end the interpreter would search all objects for garbage, which takes 50 ms.
register(freeze)
