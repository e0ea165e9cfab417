"""A host's Docker engine over its link: containers, files in them, commands in them."""
