"""Starts a program of `bin/`: imports its module and runs its function `main`."""

import gc
import sys
from importlib import import_module
from typing import NoReturn


def run_program(module: str) -> NoReturn:
    """Call `main` of the module named `module` with the arguments of this process, and exit with the code that it
    returns."""
    # What is imported is needed to the end. Without this, the interpreter would search it for garbage while it imports
    # and once more when it exits: 8 of 45 ms. A job starts several programs one after the other.
    gc.disable()
    main = import_module(module).main
    gc.freeze()
    gc.enable()
    sys.exit(main(sys.argv[1:]))
