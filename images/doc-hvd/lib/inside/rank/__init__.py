"""The wrapper around each rank: environment, output, end."""
