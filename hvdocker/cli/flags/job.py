"""The flags of a job, shared by `train` and `run`; `replay` takes some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.launchers import LAUNCHERS, NAMES
from hvdocker.launchers.launcher import START_TIMEOUT_S

_ELASTIC = ", ".join(launcher.name for launcher in LAUNCHERS if launcher.is_elastic)

NpFlag = Annotated[
    Optional[int],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Option(
        "-np", "--np", metavar="N", help="How many ranks. Default: every GPU, else every slot.", show_default=False
    ),
]
ModuleFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option("-m", metavar="MODULE", help="A module instead of a script.", show_default=False),
]
RanksFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option("-H", "--hosts", metavar="HOSTS", help="Place the ranks yourself: a:2,b:1", show_default=False),
]
WorkdirFlag = Annotated[
    Optional[Path],  # noqa: UP045  # as above
    typer.Option("--workdir", metavar="DIR", help="The folder to sync. Default: the script's.", show_default=False),
]
RequirementsFlag = Annotated[
    Optional[Path],  # noqa: UP045  # as above
    typer.Option(
        "--requirements",
        metavar="FILE",
        help="Packages for the ranks. Default: requirements.txt beside the script.",
        show_default=False,
    ),
]
NoRequirementsFlag = Annotated[bool, typer.Option("--no-requirements", metavar="", help="Leave requirements.txt out.")]
EnvFlag = Annotated[
    Optional[list[str]],  # noqa: UP045  # as above
    typer.Option(
        "--env",
        metavar="NAME[=V]",
        help="NAME=VALUE for every rank; NAME takes the value from here.",
        show_default=False,
    ),
]
SecretFlag = Annotated[
    Optional[list[str]],  # noqa: UP045  # as above
    typer.Option(
        "--secret",
        metavar="NAME[=@FILE]",
        help="A file for every rank, masked in output: the variable NAME from here, or FILE.",
        show_default=False,
    ),
]
StartTimeoutFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--start-timeout",
        metavar="SECONDS",
        help=f"With horovod: seconds until all ranks have started. Default: {START_TIMEOUT_S}.",
        show_default=False,
    ),
]
LauncherFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--launcher",
        metavar="NAME",
        help=f"How ranks are started: {', '.join(NAMES)}. Default: as the inventory or the image says.",
        show_default=False,
    ),
]
FailFastFlag = Annotated[
    bool,
    typer.Option("--fail-fast", metavar="", help="With --launcher each: the first rank that fails ends the others."),
]
JobForceFlag = Annotated[
    bool,
    typer.Option(
        "--force", metavar="", help="Also where the cluster is another owner's, or its image seems to lack a framework."
    ),
]
ChecksumFlag = Annotated[
    bool,
    typer.Option("--checksum", metavar="", help="Compare files by content, here and on the hosts, before syncing."),
]
MinNpFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--min-np",
        metavar="N",
        help=f"Elastic ({_ELASTIC}): go on with so few ranks, where hosts are lost.",
        show_default=False,
    ),
]
MaxNpFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--max-np",
        metavar="N",
        help="With --min-np: use up to so many, now and as hosts come. Default: -np, then no bound.",
        show_default=False,
    ),
]
RestartsFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--restarts",
        metavar="N",
        help="Run a failed job again, so often, on the hosts that are left. Default: 0.",
        show_default=False,
    ),
]
HangAfterFlag = Annotated[
    str,
    typer.Option(
        "--hang-after",
        metavar="TIME",
        help="No output and no work of any rank for so long is a hang: 90s, 10m, 2h; 0: never.",
    ),
]
OnHangFlag = Annotated[
    str,
    typer.Option(
        "--on-hang", metavar="WHAT", help="After a hang, with every rank's stacks collected: wait, kill or restart."
    ),
]
PropagateExitFlag = Annotated[
    bool,
    typer.Option(
        "--propagate-exit", metavar="", help="Exit with the failed rank's own code, not 100 (but for 125-127 and 255)."
    ),
]
