"""Makes the capsule of a job (the files that record the job for a replay) while the job is planned.

May ask the engine of the head for the content hash of the image that its worker runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hvdocker.cluster.steps import CreateWorker
from hvdocker.env import Env
from hvdocker.events import Event
from hvdocker.images.requirements import Requirements
from hvdocker.inventory.config_text import ConfigView, config_json
from hvdocker.inventory.locate import Located, at_home
from hvdocker.inventory.redact import redacted, redacted_env
from hvdocker.jobs.capsule.capsule import Capsule, CapsuleFiles, CodeUsed, ImageUsed
from hvdocker.jobs.capsule.store import StoredCapsule
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.observe.state import ClusterState, ContainerSeen, ImageSeen
from hvdocker.plan.plan import Plan
from hvdocker.sync.tree import Tree
from hvdocker.training.plan.worker_images import worker_image
from hvdocker.transport.session import Session

if TYPE_CHECKING:
    from hvdocker.training.inputs.request import TrainRequest

# Fields of TrainRequest that a capsule does not store among the fields of the request. Some only say how the job was
# started, for example `is_detached`. The capsule stores others, for example `env`, in fields of its own.
NOT_IN_CAPSULE = frozenset((
    "checksum", "is_detached", "is_queued", "is_dry_run", "accept_new_host_keys", "lock_wait_s", "is_forced",
    "propagates_exit", "workdir", "env", "secrets", "replay",
))  # fmt: skip


class JobInputsLike(Protocol):
    """The type of the argument `inputs` of `make_capsule`: only those attributes of JobInputs that it reads."""

    @property
    def request(self) -> TrainRequest: ...
    @property
    def requirements(self) -> Requirements | None: ...


@dataclass(frozen=True)
class CapsuleInputs:
    """What `train` observed and planned when it decided on the job's placement. `state` is the observed state of the
    hosts.

    `fitting` is the plan that, before the job starts, replaces workers that lack the right image. The plan is empty
    if all workers have the right image."""

    located: Located
    session: Session
    state: ClusterState
    fitting: Plan


def make_capsule(env: Env, scene: CapsuleInputs, inputs: JobInputsLike, tree: Tree, job: JobSpec) -> CapsuleFiles:
    """Return the capsule of `job`, and the patch with the changes of its code that are in no git commit. `scene` has
    what was observed and planned; `tree` has the files of the code.

    If the job is a replay, also send a note if the image or the requirements differ from the original job."""
    request, inventory, state = inputs.request, scene.located.inventory, scene.state
    image = _image(scene, job)
    code, patch = _code(tree, request.replay)
    if request.replay:
        _note_differences(env, request.replay.capsule, image, _requirements(inputs.requirements))
    maker = env.maker()
    capsule = Capsule(
        job=job.job,
        cluster=job.cluster,
        owner=maker.owner,
        script=job.script,
        started=env.now(),
        version=maker.version,
        command=job.command,
        launcher=job.launcher_preview,
        launcher_name=job.launcher.name,
        launcher_options=job.launcher.options,
        launcher_reason=job.launcher.reason,
        ranks=job.np if job.np != job.placement.np else 0,
        workdir=job.workdir,
        placement=job.placement,
        addresses=job.addresses,
        port=job.port,
        image=image,
        code=code,
        engines={name: state.hosts[name].engine.version for name in job.placement.hosts},
        env=redacted_env(job.env),
        env_from_caller=job.env_from_caller,
        secrets=job.secrets,
        resilience=job.resilience.as_json(),
        requirements=_requirements(inputs.requirements),
        inventory=config_json(ConfigView(redacted(inventory), str(scene.located.path))),
        request=request_fields(env.cwd, request, tree.root),
        replay_of=request.replay.capsule.job if request.replay else "",
    )
    return CapsuleFiles(capsule, patch)


def request_fields(cwd: Path, request: TrainRequest, source: Path) -> dict[str, object]:
    """Return the fields of the request that a capsule stores, as plain JSON values by field name. Fields in
    NOT_IN_CAPSULE are left out.

    The script becomes a path relative to `source`, the folder of the code. The requirements file becomes an absolute
    path. Relative paths of the request start at `cwd`."""
    words = {each.name: getattr(request, each.name) for each in fields(request)}
    words = {name: value for name, value in words.items() if name not in NOT_IN_CAPSULE}
    if request.script:
        path = (cwd / at_home(Path(request.script))).resolve()
        words["script"] = path.relative_to(source).as_posix()
    if request.requirements:
        words["requirements"] = str((cwd / at_home(request.requirements)).resolve())
    if request.start_timeout_s is None:
        # Earlier versions, which may replay the job, expect a number.
        del words["start_timeout_s"]
    return {name: _json_value(value) for name, value in words.items()}


def _json_value(value: Any) -> object:  # Any: a field of a request
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _json_value(getattr(value, each.name)) for each in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def _image(scene: CapsuleInputs, job: JobSpec) -> ImageUsed:
    """Return the image that the job runs on, with the image id of each worker. `scene` has the observed workers and the
    plan that replaces some of them.

    Workers that are replaced before the job starts are left out, because their image id is not known yet."""
    inventory, state, head = scene.located.inventory, scene.state, job.placement.head
    replaced = {step.host for step in scene.fitting.steps if isinstance(step, CreateWorker)}
    workers = {name: state.workers()[name] for name in job.placement.hosts if name not in replaced}
    used = worker_image(inventory, state, head, scene.fitting)
    content = _content(scene.session, head, workers.get(head), state.hosts[head].image)
    return ImageUsed(inventory.image, content, used, {name: one.image_id for name, one in workers.items()})


def _content(session: Session, head: str, worker: ContainerSeen | None, named: ImageSeen | None) -> str:
    """Return the content hash of the cluster's image; "" if it is unknown. If the job has Python requirements, the hash
    is that of the image below the layer with these requirements.

    `worker` is the worker on the host `head`, None if it is about to be replaced. `named` is the image that this host
    now has under the name of the cluster's image, None if it has none. The head's engine is asked only if the hash
    is not known from these two."""
    if worker and worker.base_content:
        return worker.base_content
    if worker is None or (named and named.id == worker.image_id):
        return named.content if named else ""
    from hvdocker.observe.engine import see_images

    found = see_images(session.links, {head: worker.image_id})
    return found[head].content if found else ""


def _code(tree: Tree, replay: StoredCapsule | None) -> tuple[CodeUsed, bytes]:
    """Return what the capsule records about the code (`tree`), and the patch against its git commit.

    If `replay` (the capsule of the original job) has the same code, both are taken from there, because the folder of
    the replay may be temporary. `replay` is None if the job is not a replay."""
    if replay and replay.capsule.code.hash == tree.hash:
        return replay.capsule.code, replay.patch
    from hvdocker.jobs.capsule.git import observe_git

    git, patch = observe_git(tree)
    size = sum(entry.size for entry in tree.entries.values())
    return CodeUsed(tree.hash, str(tree.root), len(tree.files), size, git), patch


def _requirements(found: Requirements | None) -> Mapping[str, object] | None:
    if found is None:
        return None
    return {
        "source": found.source,
        "lines": list(found.lines),
        "constraints": list(found.constraints),
        "wheels": {wheel.name: wheel.digest for wheel in found.wheels},
    }


def _note_differences(env: Env, then: Capsule, image: ImageUsed, requirements: Mapping[str, object] | None) -> None:
    if then.image.name != image.name:
        env.listener(Event("note", f"the image is {image.name} now; it was {then.image.name}"))
    elif then.image.content and image.content and then.image.content != image.content:
        env.listener(Event("note", f"{image.name} is another build than the one that {then.job} ran on"))
    if _without_source(then.requirements) != _without_source(requirements):
        env.listener(Event("note", f"the requirements are others than those of {then.job}"))


def _without_source(requirements: Mapping[str, object] | None) -> dict[str, object]:
    return {name: value for name, value in (requirements or {}).items() if name != "source"}
