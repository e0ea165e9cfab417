"""The verb `image`: build the image on the controller or on a host, and push it to all hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import UsageProblem
from hvdocker.events import Event
from hvdocker.images.default_image import with_default_image
from hvdocker.images.plan import plan_push
from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.inventory.locate import Located, locate
from hvdocker.observe.state import HostSeen
from hvdocker.plan.plan import Plan
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

TARGETS = tuple(image.partition(":")[2] for image in names.OWN_IMAGES)

Show = Callable[[Plan], None]


@dataclass(frozen=True)
class BuildRequest:
    """The flags of `image build`.

    `on` is the host to build on, by its name or its `host:` in the inventory; None builds on the controller.
    `ca_bundle` has the site's CA certificates, and `wheelhouse` is a folder of preferred wheels. `base` replaces
    the Debian base image. `cuda_image` has NVIDIA's CUDA 12 toolkit, for the target gpu only."""

    target: str = "cpu"
    on: str | None = None
    ca_bundle: Path | None = None
    wheelhouse: Path | None = None
    base: str | None = None
    cuda_image: str | None = None


@dataclass(frozen=True)
class PushRequest:
    """The flags of `image push`.

    If `image` is None, the inventory's image is pushed. `accept_new_host_keys` trusts unknown SSH host keys without
    asking. `is_dry_run` only shows the plan. `lock_wait_s` is how many seconds to wait if another hvdocker command
    holds the locks of the hosts."""

    image: str | None = None
    accept_new_host_keys: bool = False
    is_dry_run: bool = False
    lock_wait_s: float = 0.0


def build(env: Env, request: BuildRequest, inventory: Path | None = None) -> str:
    """Build the requested target and return the tag of the new image. The hosts are not locked.

    `inventory` is the inventory file that the user named; it is needed only to build on a host (`request.on`). None
    chooses it as other verbs do. Raise UsageProblem for wrong flags."""
    if request.target not in TARGETS:
        raise UsageProblem(f"there is no target {request.target!r}", fix=f"targets are {', '.join(TARGETS)}")
    if request.cuda_image and request.target != "gpu":
        raise UsageProblem(
            f"--cuda-image is for the target gpu, not for {request.target}",
            fix=f"hvdocker image build --target gpu --cuda-image {request.cuda_image}",
        )
    for flag, path in (("--ca-bundle", request.ca_bundle), ("--wheelhouse", request.wheelhouse)):
        if path and not path.exists():
            raise UsageProblem(f"{flag} {path} is not there")
    if request.on:
        return _build_on_host(env, locate(env, inventory), request)
    from hvdocker.transport.local_link import LocalLink

    return _build_on_engine(env, LocalLink("this machine"), request)


@dataclass(frozen=True)
class PushReport:
    """The plan of a push, its inventory with the pushed image, and the hosts, by name, as observed before the push."""

    plan: Plan
    inventory: Inventory
    hosts: Mapping[str, HostSeen]


def push(env: Env, located: Located, request: PushRequest, show: Show = lambda plan: None) -> PushReport:
    """Put the image onto every host of the inventory that lacks it, and pass the plan to `show` before it is carried
    out.

    The hosts are first observed without a lock. If there is anything to do and this is no dry run, they are locked,
    observed again and planned again. Raise UsageProblem for a local cluster."""
    inventory = located.inventory
    if inventory.is_local:
        raise UsageProblem("a local cluster's workers share this machine's engine: there is nowhere to push to")
    if request.image:
        inventory = replace(inventory, image=request.image, has_named_image=True)
        located = replace(located, inventory=inventory)
    with connected(env, located, request.accept_new_host_keys) as session:
        inventory = with_default_image(located, session).inventory
        # The image that is pushed, also where workers have another one from `up --image`.
        inventory = replace(inventory, forced_image=inventory.image)
        report = _observe_and_plan(inventory, session)
        if request.is_dry_run or report.plan.is_empty:
            show(report.plan)
            return report
        from hvdocker.locks.lock import locked
        from hvdocker.plan.apply import Context, apply

        with locked(env, located, session.links, "image push", request.lock_wait_s) as held:
            report = _observe_and_plan(inventory, session)
            show(report.plan)
            apply(report.plan, Context(inventory, session.links, env.listener, guard=held.raise_if_lost))
        return report


def _observe_and_plan(inventory: Inventory, session: Session) -> PushReport:
    from hvdocker.observe.hosts import whole_state

    state = whole_state(inventory, session.links)
    return PushReport(plan_push(inventory, state), inventory, state.hosts)


def _build_on_host(env: Env, located: Located, request: BuildRequest) -> str:
    hosts = [host for host in located.inventory.hosts if request.on in (host.name, host.host)]
    if not hosts:
        known = ", ".join(host.name for host in located.inventory.hosts)
        raise UsageProblem(f"{request.on!r} is not in the inventory", fix=f"hosts are {known}")
    only = _with_one_host(located, hosts[0])
    with connected(env, only) as session:
        from hvdocker.observe.hosts import whole_state

        whole_state(only.inventory, session.links, with_images=False)
        return _build_on_engine(env, session.links[hosts[0].name], request)


def _with_one_host(located: Located, host: Host) -> Located:
    return replace(located, inventory=replace(located.inventory, hosts=(host,)))


def _build_on_engine(env: Env, target: HostLink, request: BuildRequest) -> str:
    from hvdocker.images.build.build import BuildOptions, build_image
    from hvdocker.transport.errors import translating_errors

    options = BuildOptions(request.target, request.ca_bundle, request.wheelhouse, request.base, request.cuda_image)
    with translating_errors(target.name, "building the image"):
        tag = build_image(target.engine(), options, lambda text: env.listener(Event("build", text, target.name)))
    env.listener(Event("build", f"built {tag}", target.name, is_end=True))
    return tag
