"""WORDS: argument lists, container specifications and rendered files. Never runs anything."""
