"""Sending an image to hosts: only the layers that are missing, in parts."""
