"""Everything that hvdocker shows on a terminal. This is the only package that imports rich.

style.py makes the two consoles: results go to stdout, everything else to stderr. Both remove control sequences from all
text (sanitize.py). progress.py shows the events of a verb while the verb works. When the verb returns, cli/ passes its
report to a file in views/, or prints a sentence of messages.py. errors.py formats the error that ends a verb.
messages.py and sanitize.py are pure.

To show a new table, add a file to views/. progress.py shows a new event without a change."""
