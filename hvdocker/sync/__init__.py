"""The same code on every host: what is there, what is missing, one stream for all."""
