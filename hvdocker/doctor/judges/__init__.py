"""Findings from facts, one file per subject. Pure."""
