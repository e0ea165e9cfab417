"""The environment variables of a job's ranks: `env:` in the inventory, overridden by `--env` flags. Pure.

The ranks get them in job.json (protocol/job_file.py), never on a command line. In the image,
inside/rank/environment.py sets them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hvdocker.errors import UsageProblem

_ENV = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?", re.DOTALL)


def job_environment(general: Mapping[str, str], flags: list[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a job: the inventory's `env:` (`general`), overridden by the `--env` flags
    (`flags`).

    A flag `K=V` sets a value. `K` alone takes the value from `environ`, the caller's environment. Raises UsageProblem
    for an invalid flag, or if `environ` has no such variable."""
    result = dict(general)
    for flag in flags:
        found = _ENV.fullmatch(flag)
        if not found:
            raise UsageProblem(f"--env should be NAME or NAME=VALUE, got {flag!r}")
        name, value = found[1], found[2]
        if value is None:
            if name not in environ:
                raise UsageProblem(f"--env {name}: there is no such variable here", fix=f"--env {name}=VALUE")
            value = environ[name]
        result[name] = value
    return result
