"""LOOKS: everything a person sees on a terminal."""
