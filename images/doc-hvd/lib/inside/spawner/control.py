"""The messages between the spawner and its agents. Commands go to the standard input of the agent, one JSON object a
line. Events come back on its standard output, between the lines of ranks, after a control character. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from inside.launchers.spawned import ProcessStart

Message = dict[str, Any]  # Any: JSON
# No line of a rank begins with it, because each has a header.
EVENT_START = b"\x1dhvdocker "


def start_command(process: ProcessStart) -> Message:
    """Return the command (a message to the agent) to start `process`."""
    return {
        "command": "start",
        "key": process.key,
        "argv": list(process.argv),
        "env": dict(process.env),
        "rank": process.rank,
    }


def listen_command(name: str) -> Message:
    """Return the command to listen for ranks that another program starts. `name` is the name of the socket."""
    return {"command": "listen", "name": name}


def end_ranks_command(most_nodes: int) -> Message:
    """Return the command to end the ranks that were started when more than `most_nodes` hosts took part."""
    return {"command": "end-ranks", "nodes": most_nodes}


def stop_command(is_hurried: bool = False) -> Message:
    """Return the command to end all processes, and then the agent itself. With `is_hurried` the agent discards output
    that nobody reads."""
    return {"command": "stop", "hurry": is_hurried}


def ready_event() -> Message:
    """Return the event that tells the spawner that the agent has started."""
    return {"event": "ready"}


def ended_event(key: int, code: int, signal: int | None, had_ranks: bool = True) -> Message:
    """Return the event that tells the spawner that process number `key` has ended, with its exit code, and with the
    signal that ended it (None: no signal). `had_ranks` is False for a program, such as torchrun, that ended without
    having started a rank."""
    return {"event": "ended", "key": key, "code": code, "signal": signal, "had_ranks": had_ranks}


def encode_command(message: Mapping[str, Any]) -> bytes:  # Any: JSON
    """Encode a command as one line of JSON for the agent's standard input."""
    return json.dumps(message).encode() + b"\n"


def encode_event(message: Mapping[str, Any]) -> bytes:  # Any: JSON
    """Encode an event as one line for the agent's standard output: EVENT_START, then JSON."""
    return EVENT_START + json.dumps(message).encode() + b"\n"


def parse_command(line: bytes) -> Message | None:
    """Return the command that a line from the spawner contains; None if the line is no JSON object."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def split_events(lines: bytes) -> tuple[bytes, list[Message]]:
    """Split whole lines from an agent into two results: the output lines of ranks and programs, and the events. A line
    that begins like an event but cannot be parsed stays in the output."""
    if EVENT_START not in lines:
        return lines, []
    kept, events = [], []
    for line in lines.splitlines(keepends=True):
        event = parse_command(line[len(EVENT_START) :]) if line.startswith(EVENT_START) else None
        if event is None:
            kept.append(line)
        else:
            events.append(event)
    return b"".join(kept), events
