"""The table of GPUs as a person sees it, in narrow terminals too."""

import pytest

from hvdocker.console.style import out
from hvdocker.console.views.gpus import short_id, show_gpus
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from tests.unit.placement.test_gpus import report

WIDE = """\
host  gpu  id  model              free     of  use  °C  state
a       0  0   A100              39 GB  40 GB  98%  71  held by mnist-4kq2
                                                        7 python of ada in lab, 900 MB
        1  1   A100              40 GB  40 GB   0%  31  free in lab
        2  2   Tesla T4          14 GB  15 GB    ?   ?  held by bob
                                                        8 python3 of bob, 700 MB
        3  3   A100 MIG 3g.20gb      ?  20 GB    ?   ?  free
                                                        GPU 4 is lost
b              no GPUs                                  2 of 4 slots free, 2 held by mnist-4kq2
c                                                       unfit
d                                                       unreachable
c: its GPUs are not known: nvidia-smi did not answer within 10 s
  → on the host: sudo reboot
d: refused
4 GPUs on 1 host, 1 free; 1 more in lab; 4 CPU slots on 1 host, 2 free; 2 hosts not known
"""


def shown(capsys: pytest.CaptureFixture[str], width: int) -> list[str]:
    console = out()
    console.width = width
    show_gpus(console, report())
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, 120) == WIDE.splitlines()


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits(capsys: pytest.CaptureFixture[str], width: int) -> None:
    lines = shown(capsys, width)
    assert max(len(line) for line in lines) <= width
    assert "mnist-4kq2" in " ".join(lines)


@pytest.mark.parametrize(
    ("uuid", "short"),
    [
        ("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "5d5ba0d6"),
        ("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "c6d4f1ef"),
        ("MIG-GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5/1/5", "b8ea3855/1/5"),
    ],
)
def test_short_names(uuid: str, short: str) -> None:
    assert short_id(GpuSeen(0, uuid, "", processes=(GpuProcess(1),))) == short
