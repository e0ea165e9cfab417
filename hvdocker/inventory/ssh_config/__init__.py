"""OpenSSH's client configuration, read as OpenSSH reads it. Connects to nothing."""
