"""A person's own programs, run before and after verbs."""
