"""What a host shows of hvdocker's doings: to be compared before and after."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import side_by_side

# Wherever a program run by these users could write.
PLACES = "/root /home /tmp /var/tmp /etc /opt /srv /usr/local /dev/shm"
# A folder's time and size also change when something in it comes and goes again.
FILES = (
    f"find {PLACES} -xdev \\( -type d -printf '%p d %m %u\\n' -o -printf '%p %y %m %u %s %T@\\n' \\) | sort"
)
FOLDER_TIMES = f"find {PLACES} -xdev -type d -printf '%p %T@\\n' | sort"
ENGINE = (
    "docker ps -a --no-trunc --format '{{.ID}} {{.Names}} {{.State}}' | sort; "
    "docker network ls --no-trunc --filter type=custom --format '{{.ID}} {{.Name}}' | sort; "
    "docker volume ls -q | sort"
)

Traces = dict[str, list[str]]


def traces(hosts: list[LabHost], with_folder_times: bool = False) -> Traces:
    """Per host: containers, networks, volumes, and every file where one of ours could lie."""
    script = "; ".join([ENGINE, FILES, *([FOLDER_TIMES] if with_folder_times else [])])
    return dict(side_by_side(lambda host: (host.name, host.exec(script).splitlines()), hosts))


@contextmanager
def untouched(*hosts: LabHost) -> Iterator[None]:
    """Whatever happens inside leaves nothing on these hosts."""
    before = traces(list(hosts))
    yield
    after = traces(list(hosts))
    changed = {name: sorted(set(before[name]) ^ set(after[name])) for name in before}
    assert changed == {name: [] for name in before}


def left_of(hosts: list[LabHost], cluster: str) -> dict[str, str]:
    """Per host whatever is left of a cluster; empty when nothing is."""
    script = (
        f"docker ps -a --filter label=hvdocker.cluster={cluster} --format '{{{{.Names}}}}'; "
        f"docker network ls --filter label=hvdocker.cluster={cluster} --format '{{{{.Name}}}}'; "
        f"docker volume ls -q --filter label=hvdocker.cluster={cluster}; "
        f"ls -d /root/.hvdocker/{cluster} /home/*/.hvdocker/{cluster} /tmp/hvdocker* 2>/dev/null; true"
    )
    found = side_by_side(lambda host: (host.name, host.exec(script)), hosts)
    return {name: left for name, left in found if left}
