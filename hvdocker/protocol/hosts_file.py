"""hosts.json, in which the controller lists the hosts of a running elastic job when workers have changed. The
supervisor reads each change. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hvdocker.protocol.job_file import JobHost, parse_job_host

# In a master, below /run/hvdocker. Missing until `up`, or a `train` that replaces workers, updates the master.
HOSTS_FILE = "hosts.json"


def hosts_text(job_hosts: Iterable[JobHost]) -> str:
    """Return the text of hosts.json, the current hosts of an elastic job."""
    return json.dumps({"hosts": [job_host.as_json() for job_host in job_hosts]}) + "\n"


def parse_hosts(text: str) -> tuple[JobHost, ...]:
    """Return the hosts in the text of hosts.json. Raises ValueError, KeyError or TypeError if it is malformed."""
    return tuple(map(parse_job_host, json.loads(text)["hosts"]))
