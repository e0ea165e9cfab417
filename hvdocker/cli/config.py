"""The command `config`: flags and output. inventory/config.py does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.flags.verb import InventoryFlag, JsonFlag, refuse_rest


def config(
    ctx: typer.Context,
    inventory: InventoryFlag = None,
    json: JsonFlag = False,
    schema: Annotated[
        bool, typer.Option("--schema", metavar="", help="Print the JSON Schema of inventories instead.")
    ] = False,
) -> None:
    """Print the inventory as hvdocker understands it, secrets hidden.

      hvdocker config inventory.yaml

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
    view = run(Env(), inventory)
    if json:
        import json as encoder

        print(encoder.dumps(config_json(view), indent=1))
    else:
        print(config_yaml(view), end="")
