"""Exits at once: what is left is the launch."""
