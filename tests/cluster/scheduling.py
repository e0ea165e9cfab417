"""Distributes tests over xdist processes (`pytest -n 2`), each of which has its own lab."""

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

# Files whose tests change this machine's own engine, which all labs share: they run in sequence. By prefix.
USES_LOCAL_ENGINE = ("test_image", "test_layer", "test_local", "test_training_requirements")

BY_LAUNCHER = "test_launchers.py"


class PerFileScheduling(LoadScopeScheduling):
    """Keeps the tests of a file in one process, because they share a cluster. Fault tests are distributed
    singly, but those that share the cluster of a launcher stay together."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.partition("::")[0])
        if path.name == BY_LAUNCHER:
            return nodeid.partition("[")[2]
        if path.parent.name not in ("cluster", "thorough"):
            return nodeid
        return "this machine" if path.name.startswith(USES_LOCAL_ENGINE) else path.name
