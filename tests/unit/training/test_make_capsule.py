"""A capsule, filled from what `train` saw and decided."""

from dataclasses import replace
from pathlib import Path

from hvdocker.env import Env
from hvdocker.events import Event
from hvdocker.images.requirements import Requirements, Wheel
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import Capsule, CodeUsed, GitSeen, ImageUsed
from hvdocker.jobs.capsule.store import StoredCapsule
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.plan.plan import Plan
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.secret import SecretSource
from hvdocker.sync.walk import read_tree
from hvdocker.training.inputs.request import JobInputs, TrainRequest
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.make_capsule import CapsuleInputs, make_capsule
from hvdocker.transport.session import Session
from tests.unit.builders import CAPSULE, IMAGE, MAKER, host_with_worker, inventory, state_of

LAB = inventory("hosts: [a, b]\nport: 12345\nenv: {API_KEY: hunter2}\n")
STATE = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))
JOB = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("a", 1), Share("b", 1))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=("python", "/train/train.py"),
    launcher=JobLauncher("horovod"),
    launcher_preview=("horovodrun", "-np", "2"),
    workdir="/train",
    env={"API_KEY": "hunter2", "SEED": "7"},
    env_from_caller=("SEED",),
    secrets=(SecretSource("TOKEN"),),
)


def filled(folder: Path, request: TrainRequest, events: list[Event], needs: Requirements | None = None) -> Capsule:
    (folder / "train.py").write_text("x")
    env = Env(folder, {"HVDOCKER_OWNER": MAKER.owner}, events.append, now=lambda: 1000.0)
    scene = CapsuleInputs(Located(LAB, Path("/lab/inventory.yaml")), Session({}, {}), STATE, Plan("train", "lab"))
    wish = JobInputs(request, UserCommand((), folder, "train"), needs, {}, {})
    return make_capsule(env, scene, wish, read_tree(folder), JOB).capsule


def test_what_a_capsule_says(tmp_path: Path) -> None:
    needs = Requirements("/r.txt", ("rich",), ("x==1",), (Wheel("/w/y.whl", "digest"),))
    request = TrainRequest(script="train.py", np=2, is_forced=True)
    capsule = filled(tmp_path, request, [], needs)
    assert replace(capsule, inventory={}, request={}, version="", code=CAPSULE.code) == Capsule(
        job="train-abcd",
        cluster="lab",
        owner="ada",
        started=1000.0,
        version="",
        command=JOB.command,
        launcher=JOB.launcher_preview,
        workdir="/train",
        placement=JOB.placement,
        addresses=JOB.addresses,
        port=12345,
        image=ImageUsed("doc-hvd:cpu", IMAGE.content, "doc-hvd:cpu", {"a": IMAGE.id, "b": IMAGE.id}),
        code=CAPSULE.code,
        engines={"a": "27.0", "b": "27.0"},
        env={"API_KEY": "***", "SEED": "7"},
        env_from_caller=("SEED",),
        secrets=(SecretSource("TOKEN"),),
        resilience=JOB.resilience.as_json(),
        requirements={
            "source": "/r.txt",
            "lines": ["rich"],
            "constraints": ["x==1"],
            "wheels": {"y.whl": "digest"},
        },
    )
    hash = read_tree(tmp_path).hash
    assert capsule.code == CodeUsed(hash, str(tmp_path), 1, 1, GitSeen(why="the folder is in no git repository"))
    assert capsule.request["script"] == "train.py" and capsule.request["np"] == 2
    assert capsule.inventory["inventory"] == "/lab/inventory.yaml"
    assert "hunter2" not in capsule.text()


def test_a_replay_knows_where_its_code_came_from_and_says_what_differs(tmp_path: Path) -> None:
    events: list[Event] = []
    (tmp_path / "train.py").write_text("x")
    code = replace(CAPSULE.code, hash=read_tree(tmp_path).hash)
    first = StoredCapsule(replace(CAPSULE, code=code, image=replace(CAPSULE.image, content="sha256:old")), b"patch")
    capsule = filled(tmp_path, TrainRequest(script="train.py", replay=first), events)
    assert (capsule.code, capsule.replay_of) == (code, CAPSULE.job)
    assert [event.text for event in events] == [
        "doc-hvd:cpu is another build than the one that train-abcd ran on",
        "the requirements are others than those of train-abcd",
    ]
    other = StoredCapsule(replace(CAPSULE, requirements=None, image=ImageUsed("mine:7")))
    filled(tmp_path, TrainRequest(script="train.py", replay=other), events)
    assert events[-1].text == "the image is doc-hvd:cpu now; it was mine:7"
