"""Builders for test values: an inventory, and the observed state of a small set of hosts."""

from typing import Any

from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.parse import parse
from hvdocker.jobs.capsule.capsule import Capsule, CodeUsed, GitSeen, ImageUsed
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState, ContainerSeen, EngineSeen, HostSeen, ImageSeen
from hvdocker.protocol.placement import Placement, Share
from hvdocker.secret import SecretSource

GIB = 1024**3
MAKER = Maker("ada", "0.1.0")
ENGINE = EngineSeen("27.0", "x86_64", memory_bytes=8 * GIB)
ARM_ENGINE = EngineSeen("27.0", "aarch64", memory_bytes=8 * GIB)
IMAGE = ImageSeen("sha256:aaaa", "amd64", size_bytes=GIB, is_ours=True)
OTHER_IMAGE = ImageSeen("sha256:bbbb", "amd64", size_bytes=GIB, is_ours=True)
ADDRESSES = {"a": "10.0.0.11", "b": "10.0.0.12", "c": "10.0.0.13"}
HOST_KEYS = {name: f"ssh-ed25519 HOSTKEY{name.upper()}" for name in ADDRESSES}
CLIENT_KEY = "ssh-ed25519 CLIENTKEY"


def inventory(text: str = "hosts: [a, b]") -> Inventory:
    return parse(text, "inventory.yaml", "lab")


def host_seen(name: str, **changes: Any) -> HostSeen:  # Any: fields of HostSeen
    """Return a host with nothing on it but the image; user 1000:1001, address 10.0.0.1x."""
    address = ADDRESSES.get(name, "10.0.0.99")
    given: dict[str, Any] = {  # Any: as above
        "uid": 1000,
        "gid": 1001,
        "home": f"/home/{name}",
        "engine": ENGINE,
        "reached_at": address,
        "addresses": ("127.0.0.1", address),
        "image": IMAGE,
    }
    return HostSeen(name=name, **{**given, **changes})


def state_of(*hosts: HostSeen, **changes: Any) -> ClusterState:  # Any: fields of ClusterState
    return ClusterState({host.name: host for host in hosts}, **changes)


def worker_as_created(
    wanted: Inventory, name: str, seen: HostSeen, state: str = "running", image: str = IMAGE.id
) -> ContainerSeen:
    """Return the worker that `up` would create on that host, as it is observed afterwards."""
    place = plan_hosts(wanted, state_of(seen))[name]
    spec = worker_spec(wanted, place, MAKER)
    keys = {"hvdocker.hostkey": HOST_KEYS.get(name, "ssh-ed25519 X"), "hvdocker.clientkey": CLIENT_KEY}
    return ContainerSeen(f"id-{name}", spec.name, state, image, {**spec.all_labels(), **keys}, created=1)


def host_with_worker(wanted: Inventory, name: str, **changes: Any) -> HostSeen:  # Any: fields of HostSeen, and `state`
    """Return a host whose worker matches the inventory."""
    worker_state, image = changes.pop("state", "running"), changes.pop("image_id", IMAGE.id)
    bare = host_seen(name, **changes)
    worker = worker_as_created(wanted, name, bare, worker_state, image)
    folder = f"{bare.home}/.hvdocker/{wanted.cluster}/{name}"
    return host_seen(name, **{**changes, "containers": (worker, *bare.containers), "cluster_dir": folder})


def master(
    job: str, placement: str, state: str = "running", host: str = "a", created: int = 5, **more: str
) -> ContainerSeen:
    """Return the master of a job. `more` has further labels without their prefix `hvdocker.`."""
    labels = {
        "hvdocker.cluster": "lab",
        "hvdocker.host": host,
        "hvdocker.role": "master",
        "hvdocker.job": job,
        "hvdocker.placement": placement,
        **{f"hvdocker.{word}": value for word, value in more.items()},
    }
    return ContainerSeen(f"id-{job}", f"hvdocker-lab-{job}", state, IMAGE.id, labels, created)


CAPSULE = Capsule(
    job="train-abcd",
    cluster="lab",
    owner="ada",
    started=1000.5,
    version="0.1.0",
    command=("python", "/train/train.py", "--epochs", "3"),
    launcher=("horovodrun", "-np", "3"),
    workdir="/train",
    placement=Placement((Share("a", 1), Share("b", 2, ("GPU-1", "GPU-2")))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    image=ImageUsed("doc-hvd:cpu", "sha256:cccc", "doc-hvd:cpu", {"a": "sha256:aaaa", "b": "sha256:aaaa"}),
    code=CodeUsed("f" * 64, "/home/ada/code", 2, 30, GitSeen("a" * 40, "main", "code/", True, 5)),
    engines={"a": "27.0", "b": "26.1"},
    env={"SEED": "7"},
    env_from_caller=("SEED",),
    secrets=(SecretSource("TOKEN"), SecretSource("KEY", "/home/ada/key")),
    script="train.py",
    resilience={"restarts": 2, "elastic": None, "rules": []},
    requirements={
        "source": "/home/ada/code/requirements.txt",
        "lines": ["rich"],
        "constraints": [],
        "wheels": {},
    },
    inventory={
        "inventory": "/home/ada/inventory.yaml",
        "image": "doc-hvd:cpu",
        "hosts": [{"name": "a", "slots": 1}],
    },
    request={"script": "train.py", "rest": ["--epochs", "3"], "np": 3, "hosts": None},
    replay_of="train-aaaa",
)
