"""What every test shares: the strict run."""

pytest_plugins = ["tests.strictness"]
