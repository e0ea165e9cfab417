"""A real ssh-agent that runs for the duration of a test."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_agent(folder: Path) -> Iterator[dict[str, str]]:
    """Start an agent; yield the environment variables by which programs find it."""
    socket = folder / "agent"
    said = subprocess.run(["ssh-agent", "-a", socket, "-s"], capture_output=True, text=True, check=True).stdout
    pid = int(said.split("SSH_AGENT_PID=")[1].split(";")[0])
    try:
        yield {"SSH_AUTH_SOCK": str(socket)}
    finally:
        os.kill(pid, signal.SIGTERM)


def add_key(env: Mapping[str, str], key: Path) -> None:
    """Add a key to the agent, with the certificate next to it if there is one."""
    subprocess.run(["ssh-add", "-q", key], env={**os.environ, **env}, check=True)
