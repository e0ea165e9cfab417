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
from hvdocker.images.on_engine import engine_for
from hvdocker.images.plan import plan_push
from hvdocker.images.targets import find_target
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.observe.state import HostSeen
from hvdocker.plan.plan import Plan
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

Show = Callable[[Plan], None]


@dataclass(frozen=True)
class BuildRequest:
    """The flags of `image build`.

    `on` is the host to build on, by its name or its `host:` in the inventory; None builds on the controller.
    `ca_bundle` has the site's CA certificates, and `wheelhouse` is a folder of preferred wheels. `base` replaces
    the Debian base image. `cuda_image` has NVIDIA's CUDA 12 toolkit, for the target gpu only. `torch_index` is an
    index with CPU builds of PyTorch, for the target torch-cpu only. `source` is a user's image to build on instead of
    a target (`--from`), and `tag` the name of the result."""

    target: str = "cpu"
    on: str | None = None
    ca_bundle: Path | None = None
    wheelhouse: Path | None = None
    base: str | None = None
    cuda_image: str | None = None
    torch_index: str | None = None
    source: str | None = None
    tag: str | None = None


@dataclass(frozen=True)
class PushRequest:
    """The flags of `image push`.

    If `image` is None, the inventory's image is pushed, or the default one if it names none. `accept_new_host_keys`
    trusts unknown SSH host keys without asking. `is_dry_run` only shows the plan. `lock_wait_s` is how many seconds to
    wait if another hvdocker command holds the locks of the hosts."""

    image: str | None = None
    accept_new_host_keys: bool = False
    is_dry_run: bool = False
    lock_wait_s: float = 0.0


def build(env: Env, request: BuildRequest, inventory: Path | None = None) -> str:
    """Build the requested image and return its tag. The hosts are not locked.

    `inventory` is the inventory file that the user named; it is needed only to build on a host (`request.on`). None
    chooses it as other verbs do. Raise UsageProblem for wrong flags."""
    _check_flags(request)
    with engine_for(env, request.on, inventory) as link:
        return _build_on_engine(env, link, request)


def _check_flags(request: BuildRequest) -> None:
    target = find_target(request.target)
    if request.source and (request.wheelhouse or request.base or request.cuda_image or request.torch_index):
        raise UsageProblem("--from takes the image as it is: --wheelhouse, --base and the like are for --target")
    if request.tag and not request.source:
        raise UsageProblem("--tag goes with --from", fix=f"docker tag {target.tag} {request.tag}")
    if request.cuda_image and target.tag != names.GPU_IMAGE:
        raise UsageProblem(
            f"--cuda-image is for the target gpu, not for {request.target}",
            fix=f"hvdocker image build --target gpu --cuda-image {request.cuda_image}",
        )
    if request.torch_index and target.name != "torch-cpu":
        raise UsageProblem(f"--torch-index is for the target torch-cpu, not for {request.target}")
    for flag, path in (("--ca-bundle", request.ca_bundle), ("--wheelhouse", request.wheelhouse)):
        if path and not path.exists():
            raise UsageProblem(f"{flag} {path} is not there")


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
        inventory = replace(inventory, image=names.image_tag(request.image), has_named_image=True)
        located = replace(located, inventory=inventory)
    with connected(env, located, request.accept_new_host_keys) as session:
        inventory = with_default_image(located, session).inventory
        # Push this image, even to hosts whose workers have another image from an earlier `up --image`.
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


def _build_on_engine(env: Env, target: HostLink, request: BuildRequest) -> str:
    from hvdocker.transport.errors import translating_errors

    def say(text: str) -> None:
        env.listener(Event("build", text, target.name))

    with translating_errors(target.name, "building the image"):
        tag = _build_from(target, request, say) if request.source else _build_target(target, request, say)
    env.listener(Event("build", f"built {tag}", target.name, is_end=True))
    return tag


def _build_target(target: HostLink, request: BuildRequest, say: Callable[[str], None]) -> str:
    from hvdocker.images.build.build import BuildOptions, build_image

    options = BuildOptions(
        request.target,
        request.ca_bundle,
        request.wheelhouse,
        request.base,
        request.cuda_image,
        request.torch_index,
        is_here=request.on is None,
    )
    return build_image(target.engine(), options, say)


def _build_from(target: HostLink, request: BuildRequest, say: Callable[[str], None]) -> str:
    from hvdocker.images.build.from_image import FromOptions, build_from

    options = FromOptions(request.source or "", request.tag or "", request.ca_bundle)
    return build_from(target.engine(), options, say)
