"""NOUNS: plain values and what follows from them. Reads no environment, clock or file."""
