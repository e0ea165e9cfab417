"""One file per thing that is shown."""
