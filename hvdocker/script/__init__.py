"""A plan as a shell script. Pure."""
