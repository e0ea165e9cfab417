"""The command `config`: flags and output. inventory/config.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.verb import InventoryFlag, JsonFlag, one_inventory, refuse_rest


def config(
    ctx: typer.Context,
    inventory: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="The inventory. Default: the current one.", show_default=False),
    ] = None,
    inventory_flag: InventoryFlag = None,
    json: JsonFlag = False,
    schema: Annotated[
        bool, typer.Option("--schema", metavar="", help="Print the JSON Schema of inventories instead.")
    ] = False,
) -> None:
    """Print the inventory as hvdocker understands it, secrets hidden.

    Every setting with its value and where it comes from: the file,
    ~/.ssh/config, or a default. No host is contacted.
    """
    refuse_rest(ctx)
    from hvdocker.env import Env
    from hvdocker.inventory.config import config as run
    from hvdocker.inventory.config import config_json, config_yaml, schema_text

    if schema:
        print(schema_text(), end="")
        return
    view = run(Env(), one_inventory(inventory, inventory_flag))
    if json:
        import json as encoder

        print(encoder.dumps(config_json(view), indent=1))
    else:
        print(config_yaml(view), end="")
