"""Does the work of one command on many hosts: connect, probe, sync, sync again. Prints times and memory as
JSON.

Runs as a separate process (`python -m`), so that its memory can be measured; reads its input from stdin."""

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.observe.probe import probe, read_probe
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import sync_all
from hvdocker.sync.tree import Tree
from hvdocker.sync.walk import read_tree
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import for_each_host
from hvdocker.transport.ssh.connect import Credentials
from hvdocker.transport.ssh.link import open_ssh

T = TypeVar("T")


def measure_hosts(hosts: Mapping[str, Host], code: Path, target: Path) -> dict[str, float]:
    """Return times in seconds and memory in MB. `target` gets a folder per host: all share one disk here."""
    before_mb = rss_mb()
    credentials = Credentials()
    links, connect_s = timed(hosts, lambda name: open_ssh(hosts[name], credentials))
    open_mb, threads = rss_mb(), threading.active_count()
    probed, probe_s = timed(hosts, lambda name: probe_host(links[name]))
    tree = read_tree(code)
    targets = {name: SyncTarget(link, str(target / name)) for name, link in links.items()}
    sent, sync_s = timed_sync(targets, tree)
    again, resync_s = timed_sync(targets, tree)
    most_mb = rss_mb()
    for link in links.values():
        link.close()
    return {
        "hosts": len(hosts),
        "probed": sum(probed.values()),
        "files": sent,
        "files_again": again,
        "connect_s": connect_s,
        "probe_s": probe_s,
        "sync_s": sync_s,
        "resync_s": resync_s,
        "before_mb": before_mb,
        "open_mb": open_mb,
        "most_mb": most_mb,
        "threads": threads,
    }


def probe_host(link: HostLink) -> bool:
    return read_probe(link.run(probe("scale", link.name, ())).text).is_complete


def timed(hosts: Mapping[str, Host], work: Callable[[str], T]) -> tuple[Mapping[str, T], float]:
    started = time.perf_counter()
    done = for_each_host(hosts, work).or_raise("some hosts failed")
    return done, time.perf_counter() - started


def timed_sync(targets: Mapping[str, SyncTarget], tree: Tree) -> tuple[int, float]:
    """Sync as `train` does: pack once, in batches of hosts. Return the number of files sent, and the
    seconds."""
    started = time.perf_counter()
    reports = sync_all(targets, tree).or_raise("some hosts were not synced")
    return sum(report.sent for report in reports.values()), time.perf_counter() - started


def rss_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> None:
    order = json.load(sys.stdin)
    ssh = SshSettings(user=order["user"], key=order["key"])
    hosts = {
        f"e{port}": Host(f"e{port}", order["address"], ssh=SshSettings(port=port).with_defaults(ssh))
        for port in order["ports"]
    }
    print(json.dumps(measure_hosts(hosts, Path(order["code"]), Path(order["target"]))))


if __name__ == "__main__":
    main()
