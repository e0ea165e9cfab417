"""The flags of a job, shared by `train` and `run`; `replay` takes some of them. Also the argument that names a job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.completers import choice, complete_jobs, complete_launchers
from hvdocker.cli.flags.panels import FAILURES, HOW, RANKS, SHARED, WHAT, WHERE
from hvdocker.launchers import LAUNCHERS, NAMES
from hvdocker.launchers.launcher import START_TIMEOUT_S

_ELASTIC = ", ".join(launcher.name for launcher in LAUNCHERS if launcher.is_elastic)

JobArgument = Annotated[
    Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Argument(
        metavar="JOB",
        help="The job, or the beginning of its id. Default: the newest.",
        show_default=False,
        autocompletion=complete_jobs,
    ),
]
NamedJob = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="The job, or the beginning of its id.",
        show_default=False,
        autocompletion=complete_jobs,
    ),
]
NpFlag = Annotated[
    Optional[int],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Option(
        "-np",
        "--np",
        metavar="N",
        help="How many ranks. Default: every GPU, else every slot.",
        show_default=False,
        rich_help_panel=WHERE,
    ),
]
ModuleFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "-m", metavar="MODULE", help="A module instead of a script.", show_default=False, rich_help_panel=WHAT
    ),
]
WorkdirFlag = Annotated[
    Optional[Path],  # noqa: UP045  # as above
    typer.Option(
        "--workdir",
        metavar="DIR",
        help="The folder to sync. Default: the script's.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
RequirementsFlag = Annotated[
    Optional[Path],  # noqa: UP045  # as above
    typer.Option(
        "--requirements",
        metavar="FILE",
        help="Packages for the ranks. Default: requirements.txt beside the script.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
NoRequirementsFlag = Annotated[
    bool, typer.Option("--no-requirements", metavar="", help="Leave requirements.txt out.", rich_help_panel=WHAT)
]
EnvFlag = Annotated[
    Optional[list[str]],  # noqa: UP045  # as above
    typer.Option(
        "--env",
        metavar="NAME[=V]",
        help="NAME=VALUE for every rank; NAME takes the value from here.",
        show_default=False,
        rich_help_panel=RANKS,
    ),
]
SecretFlag = Annotated[
    Optional[list[str]],  # noqa: UP045  # as above
    typer.Option(
        "--secret",
        metavar="NAME[=@FILE]",
        help="A file for every rank, masked in output: the variable NAME from here, or FILE.",
        show_default=False,
        rich_help_panel=RANKS,
    ),
]
StartTimeoutFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--start-timeout",
        metavar="SECONDS",
        help=f"With horovod: seconds until all ranks have started. Default: {START_TIMEOUT_S}.",
        show_default=False,
        rich_help_panel=FAILURES,
    ),
]
LauncherFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--launcher",
        metavar="NAME",
        help=f"How ranks are started: {', '.join(NAMES)}. Default: as the inventory or the image says.",
        show_default=False,
        autocompletion=complete_launchers,
        rich_help_panel=WHAT,
    ),
]
FailFastFlag = Annotated[
    bool,
    typer.Option(
        "--fail-fast",
        metavar="",
        help="With --launcher each: the first rank that fails ends the others.",
        rich_help_panel=FAILURES,
    ),
]
JobForceFlag = Annotated[
    bool,
    typer.Option(
        "--force",
        metavar="",
        help="Also where the cluster is another owner's, or its image seems to lack a framework.",
        rich_help_panel=SHARED,
    ),
]
ChecksumFlag = Annotated[
    bool,
    typer.Option(
        "--checksum",
        metavar="",
        help="Compare files by content, here and on the hosts, before syncing.",
        rich_help_panel=WHAT,
    ),
]
DetachFlag = Annotated[
    bool, typer.Option("-d", "--detach", metavar="", help="Start the job and come back.", rich_help_panel=HOW)
]
MinNpFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--min-np",
        metavar="N",
        help=f"Elastic ({_ELASTIC}): go on with so few ranks, where hosts are lost. "
        "With horovod also --elastic-timeout SECONDS (to wait for a host) and --reset-limit N (changes of hosts).",
        show_default=False,
        rich_help_panel=FAILURES,
    ),
]
MaxNpFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--max-np",
        metavar="N",
        help="With --min-np: use up to so many, now and as hosts come. Default: -np, then no bound.",
        show_default=False,
        rich_help_panel=FAILURES,
    ),
]
RestartsFlag = Annotated[
    Optional[int],  # noqa: UP045  # as above
    typer.Option(
        "--restarts",
        metavar="N",
        help="Run a failed job again, so often, on the hosts that are left. Default: 0.",
        show_default=False,
        rich_help_panel=FAILURES,
    ),
]
HangAfterFlag = Annotated[
    str,
    typer.Option(
        "--hang-after",
        metavar="TIME",
        help="No output and no work of any rank for so long is a hang: 90s, 10m, 2h; 0: never.",
        rich_help_panel=FAILURES,
    ),
]
OnHangFlag = Annotated[
    str,
    typer.Option(
        "--on-hang",
        metavar="WHAT",
        help="After a hang, with every rank's stacks collected: wait, kill or restart.",
        autocompletion=choice("wait", "kill", "restart"),
        rich_help_panel=FAILURES,
    ),
]
PropagateExitFlag = Annotated[
    bool,
    typer.Option(
        "--propagate-exit",
        metavar="",
        help="Exit with the failed rank's own code, not 100 (but for 125-127 and 255).",
        rich_help_panel=FAILURES,
    ),
]
