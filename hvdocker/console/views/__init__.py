"""Views: one file per thing that is shown, mostly named after its verb.

A view takes a console and a report of a verb and prints tables. It contacts no host and decides nothing:
what it shows is in the report. To show something new, add a file here, and call it from cli/."""
