"""The launcher `tensorflow`: every rank is started directly, with the variable TF_CONFIG. Pure."""

from __future__ import annotations

from hvdocker.launchers.launcher import Launcher


class Tensorflow(Launcher):
    """The launcher `tensorflow`, for TensorFlow's own MultiWorkerMirroredStrategy."""

    name = "tensorflow"
    frameworks = ("tensorflow",)
    image = "tensorflow"
    default_for = "tensorflow"
    packages = ("tensorflow", "nccl")
