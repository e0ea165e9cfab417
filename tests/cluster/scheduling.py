"""Who runs what where tests run side by side (`pytest -n 2`), every process with a lab of its own."""

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

# Files whose tests change what all labs have in common, this machine's own engine: one after the other.
ON_THIS_MACHINE = ("test_image", "test_layer", "test_local", "test_training_requirements")


class ByFile(LoadScopeScheduling):
    """Tests of a file share a cluster, and so a process; faults are tried each by itself."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.partition("::")[0])
        if path.parent.name not in ("cluster", "thorough"):
            return nodeid
        return "this machine" if path.name.startswith(ON_THIS_MACHINE) else path.name
