"""Starting a job: what is asked for, where it goes, and following it to its end."""
