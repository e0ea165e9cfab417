"""Flags that several verbs share."""
