"""Outputs and logs on their way home."""
