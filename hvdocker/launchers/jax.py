"""The launcher `jax`: every rank is started directly, with the variables of `jax.distributed.initialize()`. Pure."""

from __future__ import annotations

from hvdocker.launchers.launcher import Launcher


class Jax(Launcher):
    name = "jax"
    frameworks = ("jax",)
    default_for = "jax"
    packages = ("jax", "nccl")
