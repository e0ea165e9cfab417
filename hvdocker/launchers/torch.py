"""The launcher `torch`: every rank is started directly, with the variables that torchrun sets. Pure."""

from __future__ import annotations

from hvdocker.launchers.launcher import Launcher


class Torch(Launcher):
    """The launcher `torch`, for PyTorch scripts: DDP, FSDP, Lightning, Accelerate, and others that run under
    torchrun."""

    name = "torch"
    frameworks = ("torch",)
    image = "torch"
    default_for = "torch"
    packages = ("torch", "nccl")
