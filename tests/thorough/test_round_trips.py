"""What each verb costs on the wire, counted per host: SSH connections, SSH channels, requests to Docker engines, and
bytes. The first word of a row is the phase of the verb.

A change that adds a round trip fails here. If it is worth its price: run the test, read the difference, paste the
printed table, and justify it in the commit. No duration is measured."""

import re
from collections import Counter
from pathlib import Path
from pprint import pformat

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

COUNTING = Path(__file__).with_name("counting")
SOCKET = "channel direct-streamlocal@openssh.com"

Row = tuple[str, str]  # what in hvdocker asked, and the event
Counts = dict[Row, tuple[int, ...]]  # on h1 (the head), on h2, and at the controller's own engine

# A second `up`, `status`, and the first look of other verbs: the same requests to every host.
LOOK: Counts = {
    ("connect", "SSH connection"): (1, 1, 0),
    ("observe.engine", "GET /_ping"): (1, 1, 0),
    ("observe.engine", "GET /containers/json"): (1, 1, 0),
    ("observe.engine", "GET /images/ID/json"): (1, 1, 0),
    ("observe.hosts", "channel session"): (1, 1, 0),
}
LOOK_CHANNEL: Counts = {("observe.engine", SOCKET): (1, 1, 0)}
EXPECTED: dict[str, Counts] = {
    "up": LOOK
    | LOOK_CHANNEL
    | {
        ("locks.held_locks", "channel session"): (2, 2, 0),
        ("observe.engine", "GET /_ping"): (1, 1, 1),
        ("observe.engine", "GET /containers/json"): (2, 2, 0),
        ("observe.engine", "GET /images/ID/json"): (2, 2, 1),
        ("observe.engine", "GET /info"): (1, 1, 0),
        ("stage containers", "GET /containers/ID/archive"): (1, 0, 0),
        ("stage containers", "POST /containers/ID/start"): (1, 1, 0),
        ("stage containers", "POST /containers/create"): (1, 1, 0),
        ("stage containers", "PUT /containers/ID/archive"): (1, 1, 0),
        ("stage files", "channel session"): (1, 1, 0),
        ("stage mesh", "GET /exec/ID/json"): (1, 0, 0),
        ("stage mesh", "POST /containers/ID/exec"): (1, 0, 0),
        ("stage mesh", "POST /exec/ID/start"): (1, 0, 0),
        ("stage mesh", SOCKET): (1, 0, 0),
        ("stage sshd", "channel direct-tcpip"): (1, 1, 0),
    },
    "up again": LOOK
    | LOOK_CHANNEL
    | {
        ("observe.engine", "GET /_ping"): (1, 1, 1),
        ("observe.engine", "GET /images/ID/json"): (1, 1, 1),
    },
    "status": LOOK | LOOK_CHANNEL,
    "train": LOOK
    | {
        ("any", SOCKET): (1, 1, 0),  # see channels_to_engine
        ("engine.archive", "GET /containers/ID/archive"): (1, 0, 0),
        ("jobs.job_container", "channel session"): (1, 0, 0),
        ("jobs.job_container", "GET /containers/ID/json"): (1, 0, 0),
        ("jobs.log.save", "GET /containers/ID/json"): (2, 0, 0),
        ("jobs.log.save", "GET /containers/ID/logs"): (1, 0, 0),
        ("jobs.log.stream", "GET /containers/ID/json"): (2, 0, 0),
        ("jobs.log.stream", "GET /containers/ID/logs"): (2, 0, 0),
        ("locks.held_locks", "channel session"): (2, 2, 0),
        ("locks.held_ticket", "channel session"): (1, 0, 0),
        ("observe.listening", "channel session"): (1, 1, 0),
        ("stage files", "channel session"): (3, 3, 0),
        ("stage master", "POST /containers/ID/start"): (1, 0, 0),
        ("stage master", "POST /containers/create"): (1, 0, 0),
        ("stage master", "PUT /containers/ID/archive"): (1, 0, 0),
        ("sync.host_query", "channel session"): (1, 1, 0),
        ("sync.stream_sender", "channel session"): (1, 1, 0),
    },
    "down": LOOK
    | LOOK_CHANNEL
    | {
        ("jobs.results.fetch_files", "channel session"): (2, 2, 0),
        ("locks.held_locks", "channel session"): (2, 2, 0),
        ("observe.engine", "GET /containers/json"): (2, 2, 0),
        ("observe.engine", "GET /images/ID/json"): (2, 2, 0),
        ("observe.hosts", "channel session"): (2, 2, 0),
        ("stage containers", "DELETE /containers/ID"): (2, 1, 0),
        ("stage fetch", "GET /containers/ID/archive"): (1, 0, 0),
        ("stage fetch", "GET /containers/ID/json"): (2, 0, 0),
        ("stage fetch", "GET /containers/ID/logs"): (1, 0, 0),
        ("stage fetch", SOCKET): (1, 0, 0),
        ("stage fetch", "channel session"): (2, 2, 0),
        ("stage files", "channel session"): (1, 1, 0),
    },
}

# Bytes that are sent to h2 over SSH, with all that SSH adds. h1 gets more, because it is the head.
EXPECTED_BYTES = {"up": 41820, "up again": 6872, "train": 41588, "status": 6872, "down": 31172}
# Messages of SSH have random padding, and the length of a job's id and of times differs.
BYTES_TOLERANCE = 0.03

# Rows whose number depends on time. They are compared as 1 if there are any.
AT_LEAST_ONCE = (
    # Connections are tried until the new worker's sshd answers.
    ("stage sshd", "channel direct-tcpip"),
    # A master that has not quite ended is waited for and inspected again.
    ("jobs.job_container", "GET /containers/ID/json"),
)
# The wait for a master that has not quite ended.
LEFT_OUT = (("jobs.job_container", "POST /containers/ID/wait"),)
# Read once for all hosts, from the host whose thread comes first; counted on h1.
ON_ANY_HOST = (("stage containers", "GET /containers/ID/archive"),)


def count_events(site: LabCluster, verb: str, *words: str | Path) -> tuple[Counts, int]:
    """Run the installed program and return what it sent, by row, and the number of bytes to the second host."""
    record = site.cli.cwd / f"wire-{verb.replace(' ', '-')}"  # outside the cluster's folder, which `train` syncs
    site.run(*words, env={"PYTHONPATH": str(COUNTING), "WIRE_EVENTS": str(record)})
    place = {host.address: number for number, host in enumerate(site.hosts)} | {"controller": len(site.hosts)}
    counted: dict[Row, Counter[int]] = {}
    sent: Counter[str] = Counter()
    for line in record.read_text().splitlines():
        address, asker, event = line.split("\t")
        if asker == "bytes":
            sent[address] += int(event)
            continue
        row = channels_to_engine(verb, (asker, normalised(event)))
        counted.setdefault(row, Counter())[0 if row in ON_ANY_HOST else place[address]] += 1
    counts = {
        row: tuple(min(found[at], 1) if is_inexact(row) else found[at] for at in place.values())
        for row, found in sorted(counted.items())
        if row not in LEFT_OUT
    }
    return counts, sent[site.hosts[1].address]


def normalised(event: str) -> str:
    """Replace ids and names in the path of a request by ID, and remove the API version and the query."""
    path = re.sub(r" /v[\d.]+/", " /", event.partition("?")[0])
    objects = r" /(containers|exec|images|networks|volumes)/(?!(?:create|get|json|load|prune|search)$)"
    actions = r"archive|attach|exec|get|history|json|kill|logs|push|start|stop|tag|top|wait"
    return re.sub(rf"{objects}.+?(/(?:{actions}))?$", r" /\1/ID\2", path)


def channels_to_engine(verb: str, row: Row) -> Row:
    """Return the row under which an event counts. `train` reads files of the worker while it creates the master: if the
    first request ends before the second begins, both use one channel. So its channels are one row."""
    return ("any", SOCKET) if verb == "train" and row[1] == SOCKET else row


def is_inexact(row: Row) -> bool:
    return row in AT_LEAST_ONCE or row == ("any", SOCKET)


def test_round_trips_of_each_verb_on_each_host(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    for host in hosts:
        host.load(SMALL_IMAGE)
    site = LabCluster.write(lab, cli, hosts)
    measured = {
        "up": count_events(site, "up", "up", site.inventory),
        "up again": count_events(site, "up again", "up", site.inventory),
        "train": count_events(site, "train", "train", "--", "true"),
        "status": count_events(site, "status", "status"),
        "down": count_events(site, "down", "down", "-y"),
    }
    assert cluster_leftovers(site.hosts, site.cluster) == {}
    wrong = {verb: counts for verb, (counts, _) in measured.items() if counts != EXPECTED[verb]}
    assert {verb: EXPECTED[verb] for verb in wrong} == wrong, f"measured:\n{pformat(wrong, width=110)}"
    sent = {verb: count for verb, (_, count) in measured.items()}
    assert sent == pytest.approx(EXPECTED_BYTES, rel=BYTES_TOLERANCE), f"measured: {sent}"
