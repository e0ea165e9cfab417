"""Two hosts, a and b, as folders of this machine with a job's files, and the folder that they are fetched
to."""

from pathlib import Path

from hvdocker.jobs.results.fetch_files import fetch_job
from hvdocker.jobs.results.merge import MANIFEST, FetchedFiles
from hvdocker.jobs.results.read_host import JobSource
from hvdocker.transport.local_link import LocalLink

JOB = "train-abcd"


class TwoHosts:
    def __init__(self, root: Path) -> None:
        self.root, self.local_folder = root, root / "home" / "jobs" / JOB
        for host in "ab":
            for name in ("out", "logs"):
                (root / host / name).mkdir(parents=True)

    def write(self, host: str, name: str, text: str = "x") -> Path:
        path = self.root / host / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def fetch(self, hosts: str = "ab", job: str = JOB) -> FetchedFiles:
        sources = [JobSource(LocalLink(host), str(self.root / host)) for host in hosts]
        return fetch_job(job, sources, self.local_folder)

    def names(self) -> list[str]:
        return sorted(self.texts())

    def texts(self) -> dict[str, str]:
        """Return every fetched file with its content; a symbolic link with its target."""
        return {
            path.relative_to(self.local_folder).as_posix(): _text(path)
            for path in self.local_folder.rglob("*")
            if (path.is_symlink() or not path.is_dir()) and path.name != MANIFEST
        }


def _text(path: Path) -> str:
    return f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
