"""The containers of a cluster: their specifications, and the files in them. Pure."""
