"""Judges the GPUs of a host. Pure.

The judges check whether the GPUs are found, which processes use them, whether containers can use them, and whether the
driver supports the image's CUDA version."""

from __future__ import annotations

from collections.abc import Iterator

from hvdocker.cluster.plan.fitness import version_numbers
from hvdocker.doctor.facts.facts import MachineSeen, TrialResult
from hvdocker.doctor.facts.trial_commands import manual_command
from hvdocker.doctor.judges.finding import bad, good, unknown, warn
from hvdocker.doctor.report import Finding
from hvdocker.observe.gpu_query import HUNG_ERROR

# Ubuntu's packages have a number in their names, and ubuntu-drivers chooses one; Debian has one package.
DRIVER = "{ sudo ubuntu-drivers install || sudo apt-get install nvidia-driver; }"
# No distribution has the container toolkit: the package comes from a repository of NVIDIA.
TOOLKIT = (
    "add NVIDIA's package repository if it is missing (docs.nvidia.com/datacenter/cloud-native), then: "
    "sudo apt-get install nvidia-container-toolkit && "
    "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
)
# The Linux driver released with each CUDA version, up to CUDA 13.0. Within a major version an older driver
# also runs newer CUDA, down to the first driver of that major version, unless code is compiled for the card.
CUDA_DRIVERS = {
    "13.0": "580.65.06", "12.9": "575.51.03", "12.8": "570.26", "12.6": "560.28.03", "12.5": "555.42.02",
    "12.4": "550.54.14", "12.3": "545.23.06", "12.2": "535.54.03", "12.1": "530.30.02", "12.0": "525.60.13",
    "11.8": "520.61.05", "11.7": "515.43.04", "11.6": "510.39.01", "11.5": "495.29.05", "11.4": "470.42.01",
    "11.3": "465.19.01", "11.2": "460.27.03", "11.1": "455.23", "11.0": "450.36.06", "10.2": "440.33",
    "10.1": "418.39", "10.0": "410.48", "9.2": "396.26", "9.1": "390.46", "9.0": "384.81", "8.0": "375.26",
}  # fmt: skip
# Since CUDA 11 the first driver of a major version runs all of that major version.
MIN_DRIVERS = {13: "580.65.06", 12: "525.60.13", 11: "450.80.02"}


def judge_gpus(machine: MachineSeen) -> Iterator[Finding]:
    if machine.gpu_error and not machine.gpus:
        yield _no_answer(machine)
    elif not machine.gpus:
        yield _no_gpus(machine)
    else:
        yield _cards(machine)
        yield from _users(machine)


def _no_answer(machine: MachineSeen) -> Finding:
    said = machine.gpu_error or ""
    if not machine.nvidia_cards and "No devices were found" in said:
        return good("gpus", "none")
    # After an upgrade the kernel still runs the old driver ("mismatch"), and a hung driver stays hung: both
    # need a reboot. Otherwise the driver is not loaded.
    fix = "sudo reboot" if "mismatch" in said or said == HUNG_ERROR else "sudo modprobe nvidia"
    return bad("gpus", "nvidia-smi fails", [said], "sudo dmesg | grep -i nvrm", fix)


def _no_gpus(machine: MachineSeen) -> Finding:
    if not machine.nvidia_cards:
        return good("gpus", "none")
    shown = f"{machine.nvidia_cards} NVIDIA cards, and no driver"
    fix = f"{DRIVER} && sudo reboot"
    return warn("gpus", shown, ["nvidia-smi is not there: they stay unused"], "lspci -d 10de:", fix)


def _cards(machine: MachineSeen) -> Finding:
    kinds: dict[str, int] = {}
    for gpu in machine.gpus:
        memory = f" {gpu.memory_mb // 1024} GB" if gpu.memory_mb else ""
        kinds[f"{gpu.model}{memory}"] = kinds.get(f"{gpu.model}{memory}", 0) + 1
    shown = ", ".join(f"{count}× {kind}" for kind, count in kinds.items())
    shown = f"{shown}, driver {machine.gpus[0].driver}"
    split = [f"GPU {gpu.index}: MIG is on" for gpu in machine.gpus if gpu.is_mig]
    if split:
        fix = f"sudo nvidia-smi -i {','.join(str(gpu.index) for gpu in machine.gpus if gpu.is_mig)} -mig 0"
        evidence = [*split, "a rank gets a slice, and slices of one card cannot talk by NCCL"]
        return warn("gpus", f"split by MIG: {shown}", evidence, "nvidia-smi -L", fix)
    if any(gpu.is_persistent is False for gpu in machine.gpus):
        evidence = [
            "the driver is unloaded when no process uses the cards, and loading it takes seconds at every start"
        ]
        return warn("gpus", f"persistence is off: {shown}", evidence, "nvidia-smi -q -d PERFORMANCE",
                    "sudo nvidia-smi -pm 1")  # fmt: skip
    return good("gpus", shown)


def _users(machine: MachineSeen) -> Iterator[Finding]:
    index = {gpu.uuid: gpu.index for gpu in machine.gpus}
    lines = [
        f"GPU {index.get(one.gpu, one.gpu)}: pid {one.pid} {one.name} of {one.user or '?'}, {one.used_mb} MB"
        for one in machine.gpu_processes
    ]
    if lines:
        who = sorted({one.user or "?" for one in machine.gpu_processes})
        yield warn("gpu-users", f"in use by {', '.join(who)}", lines, "nvidia-smi", "wait, or ask them")
    else:
        yield good("gpu-users", "nobody")


def judge_toolkit(machine: MachineSeen, trial: TrialResult | None, push: str) -> Finding | None:
    """Judge whether containers get the host's GPUs (the NVIDIA container toolkit), from the result of the trial
    container.

    `trial` is that result, None if there was no trial, mostly because the host has no image for it. The finding is BAD
    if the container started only without the GPUs. It is UNKNOWN without a result, or if no container started at all.
    Return None for a host without GPUs. `push` is the command that sends the image to the hosts, to suggest as the
    fix."""
    if not machine.gpus:
        return None
    if trial is None:
        return unknown("toolkit", "no image there to try it with", fix=push)
    if trial.gpu_error:
        return bad("toolkit", "containers do not get the GPUs", [trial.gpu_error],
                   manual_command(trial.image, has_gpus=True), TOOLKIT)  # fmt: skip
    if trial.error:
        return unknown("toolkit", "no container started to try it with")
    return good("toolkit", "a container started with --gpus")


def judge_cuda(driver: str, cuda: str | None) -> Finding:
    """Judge whether the host's NVIDIA driver supports the CUDA version of the image.

    `driver` is the driver's version, such as `550.54.14`. `cuda` is the CUDA version, such as `12.4`, or None if the
    image has no CUDA, which is a WARN. The finding is BAD if the driver cannot run this CUDA version, and WARN if the
    driver is older than the driver that was released with this CUDA version. It is UNKNOWN if the tables of this file
    have neither the CUDA version nor its major version, or if `driver` is not a version."""
    if cuda is None:
        return warn("cuda", "the image has no CUDA", ["ranks will train on processors, and GPUs stay unused"],
                    fix="choose an `image:` with CUDA")  # fmt: skip
    wanted = ".".join(cuda.split(".")[:2])
    major = next(iter(version_numbers(wanted)), 0)
    own = CUDA_DRIVERS.get(wanted, MIN_DRIVERS.get(major))
    least = MIN_DRIVERS.get(major, own)
    shown = f"CUDA {wanted} on driver {driver}"
    if own is None or least is None or not version_numbers(driver):
        return unknown("cuda", f"{shown}: not in our table", command="nvidia-smi")
    fix = f"install driver {own} or newer: {DRIVER} && sudo reboot"
    if version_numbers(driver) < version_numbers(least):
        return bad("cuda", f"{shown}: too old", [f"CUDA {wanted} needs {least}"], "nvidia-smi", fix)
    if version_numbers(driver) < version_numbers(own):
        evidence = [f"CUDA {wanted} came with {own}: code that is compiled for the card at run time fails"]
        return warn("cuda", f"{shown}: older than it", evidence, "nvidia-smi", fix)
    return good("cuda", shown)
