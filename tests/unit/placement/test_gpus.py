"""The report on GPUs: who is counted, and what programs read of it."""

from dataclasses import replace
from typing import Any

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ContainerSeen, HostSeen
from hvdocker.placement import gpus as verb
from hvdocker.placement.gpus import GpuReport, gpu_report
from hvdocker.transport.pool import HostOutcomes
from hvdocker.transport.session import Session
from tests.unit.builders import host_seen, inventory, master, state_of

LAB = inventory("hosts: [a, {host: b, slots: 4}, c, d]\n")
WORKER = ContainerSeen(
    "w" * 64, "hvdocker-lab-worker", "running", "sha256:i",
    {"hvdocker.cluster": "lab", "hvdocker.role": "worker", "hvdocker.owner": "kim",
     "hvdocker.gpus": "GPU-0,GPU-1"},
)  # fmt: skip


def cards() -> tuple[GpuSeen, ...]:
    rank = GpuProcess(7, "python", "ada", 900, WORKER.id)
    foreign = GpuProcess(8, "/usr/bin/python3 x.py", "bob", 700)
    return (
        GpuSeen(0, "GPU-0", "NVIDIA A100", 40960, 960, 98, 71, processes=(rank,)),
        GpuSeen(1, "GPU-1", "NVIDIA A100", 40960, 0, 0, 31),
        GpuSeen(2, "GPU-2", "Tesla T4", 15360, 700, processes=(foreign,)),
        GpuSeen(3, "MIG-3", "NVIDIA A100 MIG 3g.20gb", 20480, parent="GPU-3"),
    )


def report() -> GpuReport:
    job = master("mnist-4kq2", '{"a":["GPU-0"],"b":2}')
    a = host_seen("a", gpus=cards(), containers=(WORKER, job), gpu_notes=("GPU 4 is lost",))
    c = host_seen("c", gpu_error="nvidia-smi did not answer within 10 s")
    return gpu_report(LAB, state_of(a, host_seen("b"), c), {"d": HostUnreachable("refused", host="d")})


def test_the_report_as_json() -> None:
    told: Any = report().as_json()
    assert (told["gpus"], told["free"], told["free_in_cluster"]) == (4, 1, 1)
    a, b, c, d = told["hosts"]
    assert [gpu["is_free"] for gpu in a["gpus"]] == [False, False, False, True]
    assert [[lease["job"] for lease in gpu["leases"]] for gpu in a["gpus"]] == [
        ["mnist-4kq2"],
        [None],
        [],
        [],
    ]
    assert a["gpus"][0]["processes"] == [
        {
            "pid": 7, "program": "python", "user": "ada", "used_mb": 900, "container": WORKER.id,
            "cluster": "lab", "job": None, "is_foreign": False,
        }
    ]  # fmt: skip
    assert (a["gpus"][0]["free_mb"], a["gpus"][3]["free_mb"], a["gpus"][3]["parent"]) == (
        40000,
        None,
        "GPU-3",
    )
    assert a["gpus"][2]["processes"][0]["is_foreign"] and a["notes"] == ["GPU 4 is lost"] and not a["slots"]
    assert (b["gpus"], b["slots"]) == ([], {"total": 4, "free": 2, "held": {"mnist-4kq2": 2}})
    assert c["error"] == "c: its GPUs are not known: nvidia-smi did not answer within 10 s"
    assert (c["slots"], d["error"]) == (None, "d: refused")


def test_hosts_without_answers_are_errors_with_a_way_out() -> None:
    hung, away = report().errors
    assert (hung.exit_code, hung.fix, away.exit_code) == (3, "on the host: sudo reboot", 4)


def test_the_gpus_of_one_machine_are_counted_once() -> None:
    local = inventory("local: 2\n")
    found = gpu_report(local, state_of(*(host_seen(name, gpus=cards()) for name in ("w1", "w2"))), {})
    assert [len(host.uses) for host in found.hosts] == [4, 0]


def test_a_driver_that_hangs_is_not_asked_at_every_look(monkeypatch: Any) -> None:
    """Any: pytest's own."""
    now = [0.0]
    asked: list[list[str]] = []
    answers = {"a": host_seen("a", gpu_error="it hangs")}

    def observe(wanted: object, links: object, without_gpus: set[str]) -> HostOutcomes[HostSeen]:
        asked.append(sorted(without_gpus))
        return HostOutcomes({n: replace(s, gpu_error="") if n in without_gpus else s for n, s in answers.items()}, {})

    monkeypatch.setattr("hvdocker.observe.hosts.observe_hosts", observe)
    looker = verb._GpuObserver(Env(now=lambda: now[0]), inventory("hosts: [a]"), Session({}, {}))
    for moment in (0.0, 2.0, 59.0, 61.0):
        now[0] = moment
        assert [str(error) for error in looker.take_report().errors] == ["a: its GPUs are not known: it hangs"]
    assert asked == [[], ["a"], ["a"], []]
    now[0], answers["a"] = 122.0, host_seen("a", gpus=cards())
    assert looker.take_report().errors == [] and not looker.last_errors
