"""The SSH connection: socket, login, host keys, channels, keep-alive. The only importer of fabric."""
