"""Plugins and signal handling for all tests."""

import signal

pytest_plugins = ["tests.strictness", "tests.cluster.faults.report"]

# A process in the background of a shell starts with SIGINT ignored, one under nohup with SIGHUP ignored, and
# its children inherit that. Tests that send these signals need the default handlers.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
