"""Views: one file per thing that is shown, mostly named after the verb that shows it.

A view gets a console and the report of a verb, and prints tables. It contacts no host and decides nothing:
everything that it shows is in the report. To show something new, add a file here and call it from cli/."""
