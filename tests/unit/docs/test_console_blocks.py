"""Every command of a fenced `console` block is one that the program takes; those that need no host are run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import typer.main

from hvdocker.cli.app import app
from hvdocker.cli.main import split_at_dashes
from hvdocker.cli.verb_setup import Invocation
from hvdocker.errors import UsageProblem
from hvdocker.launchers.passed_flags import split_passed_flags
from tests.documentation import ConsoleBlock, ShownCommand, all_console_blocks

BLOCKS = all_console_blocks()
LINES = sorted({command.line for block in BLOCKS for command in block.commands if command.words[:1] == ["hvdocker"]})
# Of click, which newer versions of typer contain.
UsageError = typer.BadParameter.__bases__[0]
ROOT_FLAGS = {"--version", "--help", "-h", "--install-completion", "--show-completion"}
HOSTS = "hosts: [gpu-a, gpu-b]\n"


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, without running it; raise for an unknown verb, flag or word."""
    own, rest = split_at_dashes([word for word in words if word != "--debug"])
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if own[0] in ROOT_FLAGS:
            return
        context = command.make_context("hvdocker", ["x"], resilient_parsing=True)
        verb = own.pop(0)
        if verb not in command.commands:
            raise UsageError(f"there is no verb {verb}")
        _, command, _ = command.resolve_command(context, [verb])
    try:
        context = command.make_context("hvdocker", own, obj=Invocation(rest))
    except typer.Exit:  # --help
        return
    others, _ = split_passed_flags(list(context.args))
    if others:
        raise UsageError(f"what is {others[0]}?")


def needs_no_host(command: ShownCommand) -> bool:
    words = command.words
    return words[:1] == ["hvdocker"] and (
        "--help" in words
        or words[1:2] in (["--version"], ["config"], ["help"])
        or (words[1:2] == ["init"] and "--no-doctor" in words)
    )


def without_hosts() -> list[ConsoleBlock]:
    return [block for block in BLOCKS if all(needs_no_host(command) for command in block.commands)]


@pytest.mark.parametrize("line", LINES)
def test_the_program_takes_every_command(line: str) -> None:
    parse(ShownCommand(line).words[1:])


@pytest.mark.parametrize(
    "line",
    ["hvdocker trian train.py", "hvdocker up --nope", "hvdocker train train.py --nope", "hvdocker image bild",
     "hvdocker train train.py other.py", "hvdocker fetch a b c", "hvdocker ssh"],
)  # fmt: skip
def test_a_command_that_the_program_does_not_take_is_noticed(line: str) -> None:
    with pytest.raises((UsageError, UsageProblem)):
        parse(ShownCommand(line).words[1:])


def test_there_are_many_commands() -> None:
    assert len(LINES) > 60 and len(without_hosts()) >= 3


@pytest.mark.parametrize("block", without_hosts(), ids=lambda block: block.id)
def test_commands_that_need_no_host_do_what_the_page_shows(block: ConsoleBlock, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "hvdocker"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from hvdocker.cli.main import main; main()' \"$@\"\n")
    program.chmod(0o755)
    folder = tmp_path / "lab"
    folder.mkdir()
    if not any("init" in command.words for command in block.commands):
        (folder / "inventory.yaml").write_text(HOSTS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HVDOCKER_")}
    environment = {**kept, "HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    environment |= {"NO_COLOR": "1", "COLUMNS": "100", "PYTHONPATH": str(Path(__file__).parents[3])}
    for command in block.commands:
        done = subprocess.run(
            ["/bin/bash", "-c", command.line], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        printed = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        for shown in command.output:
            pattern = ".*".join(map(re.escape, shown.rstrip().split("…")))
            assert any(re.fullmatch(pattern, line) for line in printed), (shown, printed)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hvdocker logs JOB --regex 'loss|error'", ["hvdocker", "logs", "JOB", "--regex", "loss|error"]),
        ("hvdocker config --schema > a.json", ["hvdocker", "config", "--schema"]),
        ("hvdocker up   # all | of it", ["hvdocker", "up"]),
        ("hvdocker status --json | python3 -m json.tool", ["hvdocker", "status", "--json"]),
        ("hvdocker train -- --seed {rank}", ["hvdocker", "train", "--", "--seed", "{rank}"]),
    ],
)
def test_the_words_of_a_command(line: str, words: list[str]) -> None:
    assert ShownCommand(line).words == words
