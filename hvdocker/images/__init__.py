"""Images: which one, how it is built, and how it gets onto hosts."""
