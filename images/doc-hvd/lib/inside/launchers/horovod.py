"""Horovod: horovodrun starts the ranks."""

from inside.launchers.launcher import Launcher


class Horovod(Launcher):
    """horovodrun."""

    name = "horovod"
    program = "horovodrun"


LAUNCHER = Horovod()
