"""What all tests share."""

import signal

pytest_plugins = ["tests.strictness", "tests.cluster.faults.report"]

# A run in the background of a shell starts with Ctrl-C ignored, one under nohup with hang-ups ignored, and
# so would every program that it starts: tests that send these need them to mean something.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
