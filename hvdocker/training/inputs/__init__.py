"""What the user asks for, checked and read before any host is touched."""
