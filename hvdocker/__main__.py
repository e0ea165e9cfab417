"""Lets `python -m hvdocker` run the command line."""

from hvdocker.cli.main import main

if __name__ == "__main__":
    main()
