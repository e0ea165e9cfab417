"""Checks that the controller runs in a container."""
