"""Snapshots of a host's files, containers, networks and volumes, to compare before and after a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel

# All folders in which a program of the lab's users could write.
SEARCHED_FOLDERS = "/root /home /tmp /var/tmp /etc /opt /srv /usr/local /dev/shm"
# Time and size of a folder are left out: they also change when a file in it is created and removed again.
_PRINT = "-type d -printf '%p d %m %u\\n' -o -printf '%p %y %m %u %s %T@\\n'"
# A login shell makes files of its own at the first login of a user: fish below ~/.local.
_OF_SHELLS = "-path '/home/*/.local' -prune"
FILES = f"find {SEARCHED_FOLDERS} -xdev {_OF_SHELLS} -o \\( {_PRINT} \\) | sort"
FOLDER_TIMES = f"find {SEARCHED_FOLDERS} -xdev -type d -printf '%p %T@\\n' | sort"
ENGINE = (
    "docker ps -a --no-trunc --format '{{.ID}} {{.Names}} {{.State}}' | sort; "
    "docker network ls --no-trunc --filter type=custom --format '{{.ID}} {{.Name}}' | sort; "
    "docker volume ls -q | sort"
)

Snapshot = dict[str, list[str]]


def snapshot(hosts: list[LabHost], with_folder_times: bool = False) -> Snapshot:
    """Return, per host, containers, networks, volumes, and every file where hvdocker could have written
    one."""
    script = "; ".join([ENGINE, FILES, *([FOLDER_TIMES] if with_folder_times else [])])
    return dict(in_parallel(lambda host: (host.name, host.exec(script).splitlines()), hosts))


@contextmanager
def untouched(*hosts: LabHost) -> Iterator[None]:
    """Assert that the block leaves no change on these hosts."""
    before = snapshot(list(hosts))
    yield
    after = snapshot(list(hosts))
    changed = {name: sorted(set(before[name]) ^ set(after[name])) for name in before}
    assert changed == {name: [] for name in before}


def cluster_leftovers(hosts: list[LabHost], cluster: str) -> dict[str, str]:
    """Return, per host, containers, networks, volumes and folders of a cluster; hosts without any are left
    out."""
    script = (
        f"docker ps -a --filter label=hvdocker.cluster={cluster} --format '{{{{.Names}}}}'; "
        f"docker network ls --filter label=hvdocker.cluster={cluster} --format '{{{{.Name}}}}'; "
        f"docker volume ls -q --filter label=hvdocker.cluster={cluster}; "
        f"ls -d /root/.hvdocker/{cluster} /home/*/.hvdocker/{cluster} /tmp/hvdocker* 2>/dev/null; true"
    )
    found = in_parallel(lambda host: (host.name, host.exec(script)), hosts)
    return {name: left for name, left in found if left}
