"""Hosts that pass an image on to each other."""
