"""FLAGS: one thin file per verb; parses, calls an op, hands the result to the console."""
