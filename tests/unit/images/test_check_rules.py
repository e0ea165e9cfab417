"""Why an image cannot serve, and for which launchers it can."""

from dataclasses import replace

import pytest

from hvdocker import names
from hvdocker.images.check_rules import PATHS, ImageFacts, judge_image_facts
from hvdocker.images.frameworks import (
    FrameworksFound,
    PythonFound,
    default_launcher,
    frameworks_text,
    launchers_served,
)
from hvdocker.launchers.frameworks import read_frameworks_label

LABELS = {
    names.LABEL_IMAGE: "1",
    names.LABEL_FORMAT: "2",
    names.LABEL_LAUNCHER: "torch",
    names.LABEL_FRAMEWORKS: "torch=2.13.0+cpu,numpy=2.4.6",
}
FOUND = FrameworksFound({"torch": "2.13.0+cpu", "numpy": "2.4.6"}, (PythonFound("/opt/venv/bin/python", "3.11.2"),))
GOOD = ImageFacts("team/a:1", "amd64", "amd64", LABELS, names.IMAGE_ENTRYPOINT, dict.fromkeys(PATHS, 0o755), FOUND)
FROM = "hvdocker image build --from team/a:1"


def without(*paths: str) -> dict[str, int]:
    return {path: 0o755 for path in PATHS if path not in paths}


def test_an_image_that_can_serve() -> None:
    check = judge_image_facts(GOOD)
    assert check.as_json() == {
        "image": "team/a:1",
        "can_serve": True,
        "problems": [],
        "fix": None,
        "launchers": ["torch", "torchrun", "each"],
        "launcher": "torch",
        "frameworks": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
        "pythons": ["/opt/venv/bin/python 3.11.2"],
        "notes": [],
    }


@pytest.mark.parametrize(
    ("changes", "problem", "fix"),
    [
        ({"files": without("/usr/sbin/sshd")}, "it has no sshd (/usr/sbin/sshd)", FROM),
        ({"files": without("/usr/bin/ssh")}, "it has no ssh (/usr/bin/ssh)", FROM),
        ({"files": without("/opt/hvdocker/python", "/usr/bin/python3")}, "it has no Python for our programs "
         "(/opt/hvdocker/python or /usr/bin/python3)", FROM),
        ({"files": without("/opt/hvdocker/bin/rank")}, "some of our programs are missing "
         "(/opt/hvdocker/bin/rank)", FROM),
        ({"files": {**GOOD.files, "/opt/hvdocker/bin/ssh": 0o700}}, "some of our programs are missing "
         "(/opt/hvdocker/bin/ssh)", FROM),
        ({"found": None}, "our programs do not run in it: /opt/hvdocker/python of at least Python 3.10 "
         "is needed", FROM),
        ({"labels": {}}, "it has no label hvdocker.image", FROM),
        ({"labels": {**LABELS, names.LABEL_FORMAT: "1"}}, "its programs speak format 1, this hvdocker speaks format 2",
         FROM),
        ({"labels": {names.LABEL_IMAGE: "1"}}, "its programs speak an older format, from before formats had numbers, "
         "this hvdocker speaks format 2", FROM),
        ({"labels": {**LABELS, names.LABEL_FORMAT: "3"}}, "its programs speak format 3, this hvdocker speaks format 2",
         "update hvdocker: the image was built by a newer one"),
        ({"entrypoint": ("/entry.sh", "x")}, "its ENTRYPOINT is /entry.sh x, not /opt/hvdocker/bin/entrypoint", FROM),
        ({"architecture": "arm64"}, "it is for arm64, the engine is amd64", FROM),
        ({"image": "doc-hvd:torch", "entrypoint": ()}, "its ENTRYPOINT is empty, not /opt/hvdocker/bin/entrypoint",
         "hvdocker image build --target torch"),
    ],
)  # fmt: skip
def test_what_keeps_an_image_from_serving(changes: dict[str, object], problem: str, fix: str) -> None:
    check = judge_image_facts(replace(GOOD, **changes))  # type: ignore[arg-type]  # one field each
    assert (check.problems, check.fix, check.launchers) == ((problem,), fix, ())


def test_an_image_without_a_shell_is_not_to_be_built_on() -> None:
    check = judge_image_facts(replace(GOOD, files={}, labels={}, found=None))
    assert check.problems[0] == "it has no shell (/bin/sh)" and len(check.problems) == 6
    assert "COPY --from=IMAGE" in check.fix


def test_notes_on_what_ranks_cannot_reach_and_on_an_old_label() -> None:
    found = FrameworksFound({"torch": "2.13.0"}, (), ("/root/conda/bin",))
    check = judge_image_facts(replace(GOOD, found=found))
    assert check.can_serve and len(check.notes) == 2 and "/root/conda/bin" in check.notes[0]


@pytest.mark.parametrize(
    ("text", "launcher", "served"),
    [
        ("", "each", "each"),
        ("torch=2.13.0,numpy=2.1.0", "torch", "torch torchrun each"),
        ("tensorflow=2.18.1,keras=3.0,horovod=0.28.1", "horovod", "horovod tensorflow each"),
        ("tensorflow=2.18.1,keras=3.0", "tensorflow", "tensorflow each"),
        ("jax=0.7.0", "jax", "jax each"),
        ("mpi4py=4.0,openmpi=4.1.4", "mpi", "mpi each"),
        ("mpi4py=4.0", "mpi", "each"),
        ("tensorflow=2.18.1,torch=2.13.0", "torch", "torch torchrun tensorflow each"),
    ],
)
def test_launchers_by_what_is_in_the_image(text: str, launcher: str, served: str) -> None:
    found = dict(read_frameworks_label(text) or {})
    assert frameworks_text(found) == text
    assert default_launcher(found) == launcher and launchers_served(found) == tuple(served.split())
