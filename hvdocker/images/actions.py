"""Carries out the steps of steps.py: builds, sends, pushes, pulls and removes images on engines."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hvdocker.images import registry
from hvdocker.images.build.build import BuildOptions, build_image
from hvdocker.images.build.context import site_ca_bundle
from hvdocker.images.build.requirements_layer import build_layer
from hvdocker.images.ship.shipment import ShipmentRequest, open_shipment
from hvdocker.images.steps import BuildImage, BuildLayer, PullImage, PushImage, RemoveImage, ShipImage
from hvdocker.plan.apply import Context
from hvdocker.plan.plan import CONTROLLER, Step

PULLED = "pulled"


@contextmanager
def prepare(some: list[Step], context: Context) -> Iterator[None]:
    """Open one shipment for all ShipImage steps in `some`, so that the image is read once for all hosts. The shipment
    is put into `context.shipment`; without such steps none is opened. The caller carries out the steps in the `with`
    block.

    At the end of the block, raise HostUnfit if hosts pulled different builds of the image."""
    ships = [step for step in some if isinstance(step, ShipImage)]
    with contextlib.ExitStack() as stack:
        if ships:
            context.shipment = stack.enter_context(open_shipment(_shipment_request(ships, context)))
            context.report_progress("image", f"read {ships[0].image}", ships[0].source, is_end=True)
        yield
    registry.check_same_content({host: image for (what, host), image in context.results.items() if what == PULLED})


def _shipment_request(ships: list[ShipImage], context: Context) -> ShipmentRequest:
    first = ships[0]
    described = {step.host: step.describe() for step in ships}

    def say(text: str, host: str, done: int, total: int) -> None:
        if host == first.source:
            context.report_progress("image", f"{text} {first.image}", host, done=done)
        else:
            via = f" (passed on by {text})" if text else ""
            context.report_progress("image", described[host] + via, host, done=done, total=total)

    links = {step.host: context.link(step.host) for step in ships}
    return ShipmentRequest(context.inventory, first.image, first.source, context.engine(first.source), links, say)


def _build_image(step: BuildImage, context: Context) -> None:
    options = BuildOptions(step.image, is_here=step.host == CONTROLLER)
    build_image(context.engine(step.host), options, lambda text: context.report_progress("image", text, step.host))


def _build_layer(step: BuildLayer, context: Context) -> None:
    ca = site_ca_bundle(os.environ)

    def say(line: str) -> None:
        # Blank lines, which arrive while pip is silent, are reported too: `report_progress` raises after
        # Ctrl-C, and so ends the build.
        context.report_progress("image", line or step.describe(), step.host)

    build_layer(context.engine(step.host), step, ca.read_bytes() if ca else b"", say)


def _ship_image(step: ShipImage, context: Context) -> None:
    context.shipment.deliver(step.host)


def _push_image(step: PushImage, context: Context) -> None:
    registry.push(context.engine(step.host), step.image, step.registry, _progress_of(step, context))


def _pull_image(step: PullImage, context: Context) -> None:
    found = registry.pull(context.engine(step.host), step, _progress_of(step, context))
    context.results[(PULLED, step.host)] = found


def _progress_of(step: Step, context: Context) -> Callable[[int, int], None]:
    return lambda done, total: context.report_progress("image", step.describe(), step.host, done=done, total=total)


def _remove_image(step: RemoveImage, context: Context) -> None:
    """Remove the image. Do nothing if the image is already gone (404), or if a container uses it since the plan was
    made (409)."""
    from docker.errors import APIError

    try:
        context.engine(step.host).remove_image(step.reference)
    except APIError as error:
        if error.status_code not in (404, 409):
            raise


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    BuildImage: _build_image,
    BuildLayer: _build_layer,
    ShipImage: _ship_image,
    PushImage: _push_image,
    PullImage: _pull_image,
    RemoveImage: _remove_image,
}
