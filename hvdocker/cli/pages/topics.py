"""The pages of `hvdocker help TOPIC`: keys of an inventory, exit codes, and environment variables."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from hvdocker.cli.pages.layout import page_width, section
from hvdocker.errors import ExitCode

EXIT_CODES = {
    ExitCode.OK: "It worked.",
    ExitCode.ERROR: "Something else failed; the error says what.",
    ExitCode.USAGE: "A flag, an argument or the inventory is wrong; no host was changed.",
    ExitCode.UNFIT: "A host answers, but lacks something that is needed, such as Docker, disk or a driver.",
    ExitCode.UNREACHABLE: "A host cannot be reached, or the connection to it was lost.",
    ExitCode.LOCKED: "Another hvdocker command is changing the hosts; --lock-wait waits for it.",
    ExitCode.NO_SLOTS: "There are too few free GPUs or slots; train --queue waits for them.",
    ExitCode.JOB_FAILED: "A rank of the job failed; with --propagate-exit its own exit code.",
    ExitCode.JOB_STOPPED: "Somebody else stopped the job.",
    ExitCode.INTERRUPTED: "Ctrl-C.",
}
_HERE = (
    ("HVDOCKER_INVENTORY", "The inventory, if the command line names none."),
    ("HVDOCKER_CLUSTER", "As --cluster."),
    ("HVDOCKER_OWNER", "Who owns clusters and jobs. Default: your user name."),
    ("HVDOCKER_CACHE", "Most bytes of the cache of images in ~/.cache/hvdocker, such as 20GB; 0: none."),
    ("HVDOCKER_REGISTRY_USER, HVDOCKER_REGISTRY_PASSWORD", "The login at `registry:`."),
    ("DOCKER_HOST, DOCKER_CONTEXT", "This machine's own engine, as docker reads them."),
    ("SSH_AUTH_SOCK", "The SSH agent."),
    ("NO_COLOR", "No colours."),
)
_RANK = (
    ("RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE", "The rank's number, and how many there are."),
    ("MASTER_ADDR, MASTER_PORT", "Where rank 0 listens."),
    ("HVDOCKER_RANK, HVDOCKER_SIZE, HVDOCKER_LOCAL_RANK, HVDOCKER_HOST", "The same of every launcher; the host."),
    ("HVDOCKER_OUTPUT_DIR", "A folder for outputs, which fetch and down bring home."),
    ("HVDOCKER_SECRETS", "The folder with the files of --secret."),
    ("HVDOCKER_RESTART", "How often the job was restarted: 0 at first."),
    ("HVDOCKER_CLUSTER, HVDOCKER_JOB, HVDOCKER_ADDRESS", "Names of the cluster and the job; the host's address."),
)


def _exit_codes() -> str:
    rows = [(f"{code:d}", text) for code, text in EXIT_CODES.items()]
    return _joined(section("Exit codes", rows, 3))


def _environment() -> str:
    others = "train --env NAME=VALUE and `env:` in the inventory set others."
    read, given = section("Read by hvdocker", _HERE, 20), section("Set for every rank of a job", _RANK, 20)
    return _joined([*read, "", *given, "", *textwrap.wrap(others, page_width())])


def _inventory() -> str:
    from hvdocker.inventory.fields import HOST_FIELDS, TOP_FIELDS, Field

    def rows(fields: Iterable[Field]) -> list[tuple[str, str]]:
        return [(f"{one.name}:", f"{one.help}{f' Default: {one.default}.' if one.default else ''}") for one in fields]

    example = ["An inventory is a YAML file. The shortest one:", "", "    hosts: [gpu-a, ubuntu@10.0.0.12]", ""]
    settings = section("Settings", rows(TOP_FIELDS), 10)
    of_host = section("Of a host, as in {host: gpu-b, slots: 4}", rows(HOST_FIELDS), 10)
    footer = "hvdocker init writes one with every key explained; hvdocker config shows what yours comes to."
    return _joined([*example, *settings, "", *of_host, "", *textwrap.wrap(footer, page_width())])


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)


TOPICS: dict[str, Callable[[], str]] = {
    "inventory": _inventory,
    "exit-codes": _exit_codes,
    "environment": _environment,
}
