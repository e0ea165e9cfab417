"""Reading a job's output: from its container, from the ranks' files, from a copy here."""
