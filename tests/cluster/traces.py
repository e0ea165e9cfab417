"""What a host shows of hvdocker's doings: to be compared before and after."""

from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import side_by_side

# Wherever a program run by these users could write; `stat` tells a file that was touched from one that was not.
FILES = "find /root /home /tmp /var/tmp /etc /opt /srv /usr/local /dev/shm -xdev -printf '%p %y %m %u %s %T@\\n' | sort"
ENGINE = (
    "docker ps -a --no-trunc --format '{{.ID}} {{.Names}} {{.State}}' | sort; "
    "docker network ls --no-trunc --format '{{.ID}} {{.Name}}' | sort; "
    "docker volume ls -q | sort"
)


def traces(hosts: list[LabHost]) -> dict[str, tuple[list[str], list[str]]]:
    """Per host: containers, networks and volumes; and every file where one of ours could lie."""
    return dict(side_by_side(lambda host: (host.name, (_lines(host, ENGINE), _lines(host, FILES))), hosts))


def _lines(host: LabHost, command: str) -> list[str]:
    return host.exec(command).splitlines()


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
