"""Exits at once, so that only the launch is measured."""
