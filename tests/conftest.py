"""What all tests share."""

import signal

pytest_plugins = ["tests.strictness"]

# A run in the background of a shell starts with Ctrl-C ignored, and so would every program it starts:
# tests that press Ctrl-C need it to mean something.
signal.signal(signal.SIGINT, signal.default_int_handler)
