"""Builds hvdocker's own images (`doc-hvd:TARGET`) through an engine's API."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from docker import APIClient

from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.images.build.base_image import ensure_base_image
from hvdocker.images.build.builder import EngineBuild, run_build, tag_with_labels
from hvdocker.images.build.context import build_context, site_ca_bundle
from hvdocker.images.build.labels import image_labels
from hvdocker.images.build.torch_wheel import TorchChoice, choose_torch, lock_pins
from hvdocker.images.build.trial import find_frameworks
from hvdocker.images.build.wheel_cache import WheelCache, user_wheel_cache
from hvdocker.images.build.wheel_server import served_wheels
from hvdocker.images.targets import ImageTarget, build_command, find_target

Say = Callable[[str], None]
SUITE = "bookworm"
GPU_ARCHITECTURE = "amd64"
CUDA_IMAGE_REQUIREMENTS = "requirements-gpu-cuda12.txt"
# NCCL loads InfiniBand's libraries by name on hosts that have such cards.
INFINIBAND_PACKAGES = "ibverbs-providers libibverbs1 librdmacm1"
# The interpreter of our own images.
PYTHON = "/usr/bin/python3"
# How the SDK names the address of an engine behind a local socket.
_LOCAL_SOCKET = "http+docker://"


@dataclass(frozen=True)
class BuildOptions:
    """What `build_image` builds, and from which sources.

    `target` is a short name or a tag of targets.py. `ca_bundle` has the site's CA certificates. `wheelhouse` is a
    folder of preferred wheels. `base` replaces the Debian base image. `cuda_image` is an image with NVIDIA's toolkit
    for CUDA 12; without it, the gpu target is compiled with CUDA 11.8, the toolkit of Debian 12. `torch_index` is a
    package index with CPU builds of PyTorch. `is_here` says that the engine runs on the controller, so that the build
    can take wheels from the controller's cache. `environ` are the controller's environment variables."""

    target: str = "cpu"
    ca_bundle: Path | None = None
    wheelhouse: Path | None = None
    base: str | None = None
    cuda_image: str | None = None
    torch_index: str | None = None
    is_here: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def wheels(self) -> tuple[Path, ...]:
        """The wheels in the folder `wheelhouse`, none if it is None. Raise UsageProblem if it is not a folder."""
        if self.wheelhouse is None:
            return ()
        if not self.wheelhouse.is_dir():
            raise UsageProblem(f"the wheelhouse {self.wheelhouse} is not a folder")
        return tuple(sorted(self.wheelhouse.glob("*.whl")))


def build_image(engine: APIClient, options: BuildOptions, say: Say) -> str:
    """Build `options.target`, and return its tag, such as `doc-hvd:cpu`. Images that the target needs are built or
    pulled before: the Debian base image if the engine lacks it, and doc-hvd:base if the target copies programs from it.

    `say` receives the output of the build line by line. Raise HvdockerError if the build fails."""
    target = find_target(options.target)
    if target.tag == "doc-hvd:gpu":
        _check_cpu_architecture(engine)
    base = options.base or ensure_base_image(engine, SUITE, say)
    if target.needs_base:
        # If doc-hvd:base is up to date, the builder takes every step from its cache.
        _build(engine, find_target("base"), options, base, say)
    return _build(engine, target, options, base, say)


def _check_cpu_architecture(engine: APIClient) -> None:
    """Raise HvdockerError if the engine's CPU architecture is not GPU_ARCHITECTURE (amd64). Called for the target gpu.

    TensorFlow and CUDA have no wheels for other architectures, so the build of that target would fail late."""
    found = str(engine.version()["Arch"])
    if found != GPU_ARCHITECTURE:
        raise HvdockerError(
            f"doc-hvd:gpu can be built for {GPU_ARCHITECTURE} only, this engine is {found}",
            command="docker version --format '{{.Server.Arch}}'",
            fix="build your own image FROM doc-hvd:base, and name it in `image:`",
        )


def _build(engine: APIClient, target: ImageTarget, options: BuildOptions, base: str, say: Say) -> str:
    say(f"building {target.tag} from {base}")
    cache = user_wheel_cache(str(engine.version()["Arch"]), options.environ)
    choice = choose_torch(target, options.wheels, cache, options.torch_index, say)
    is_here = options.is_here and str(engine.base_url).startswith(_LOCAL_SOCKET)
    options = replace(options, is_here=is_here)
    with (
        _wheels(choice, cache, options, say) as (hosts, wheels),
        _context(options, wheels) as context,
    ):
        arguments = _arguments(target, choice, options, base)
        build = EngineBuild(
            target.tag, build_command(target.tag), context, target.dockerfile, target.stage, arguments, hosts
        )
        image = run_build(engine, build, say)
    found = find_frameworks(engine, image, PYTHON)
    versions = {} if not target.framework else found.versions if found else None
    tag_with_labels(engine, image, target.tag, image_labels(target.launcher, versions))
    if versions is None:
        say(f"note: no container could be run in {target.tag} to see what is in it")
    else:
        told = ", ".join(f"{name} {version}" for name, version in versions.items())
        say(f"{target.tag} has {told or 'no framework'}")
    return target.tag


def _context(options: BuildOptions, wheels: Sequence[Path]) -> IO[bytes]:
    return build_context(options.ca_bundle or site_ca_bundle(options.environ), wheels)


@contextmanager
def _wheels(
    choice: TorchChoice, cache: WheelCache, options: BuildOptions, say: Say
) -> Iterator[tuple[dict[str, str], list[Path]]]:
    """Yield the two sources of wheels for a build: the wheel server on the controller, as a mapping of its host name to
    its address (empty if it is not used), and the wheels to put into the build context. The wheels of --wheelhouse are
    always in the context.

    A build on another machine's engine cannot reach the controller, so pip downloads the wheels there. In that case the
    context also gets a CPU build of PyTorch, because that machine may not find one."""
    own = list(options.wheels)
    if not options.is_here:
        yield {}, [*own, *([choice.wheel] if choice.wheel else [])]
        return
    pins = [] if options.cuda_image else lock_pins(choice.requirements)

    def fetch() -> list[str]:
        try:
            return sorted(cache.fetch(pins, lambda line: _say_ignoring_errors(say, line)))
        except HvdockerError as error:
            # pip in the build then asks the package index.
            _say_ignoring_errors(say, f"note: {error.what}; {error.fix}")
            return []

    with served_wheels(cache.root, fetch) as hosts:
        yield hosts if pins else {}, own


def _say_ignoring_errors(say: Say, line: str) -> None:
    """Pass the line to `say`, and ignore the error that `say` raises after Ctrl-C. Used by the thread that serves
    wheels, because Ctrl-C must stop the thread that follows the build instead."""
    try:
        say(line)
    except HvdockerError:
        return


def _arguments(target: ImageTarget, choice: TorchChoice, options: BuildOptions, base: str) -> dict[str, str]:
    """Return the build arguments (`ARG`) for the Dockerfile of the target. `base` is the tag of the Debian base image.

    `options.cuda_image` does not become the base image: a build stage copies its /usr/local/cuda. So Debian, Python
    and the wheels stay the same, and hosts get one more layer instead of another system."""
    if target.framework == "torch":
        packages = INFINIBAND_PACKAGES if target.hardware == "cuda" else ""
        return {"BASE": base, "REQUIREMENTS": choice.requirements[0], "PACKAGES": packages}
    if target.tag != "doc-hvd:gpu":
        return {"BASE": base}
    if options.cuda_image:
        return {"BASE": base, "TOOLKIT": options.cuda_image, "REQUIREMENTS": CUDA_IMAGE_REQUIREMENTS}
    return {"BASE": base, "TOOLKIT": base}
