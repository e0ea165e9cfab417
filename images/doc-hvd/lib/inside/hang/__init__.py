"""Finding a hang, and the rank that the others wait for."""
