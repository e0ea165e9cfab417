"""The whole scripts of the documentation, pasted as a reader pastes them, on two real hosts."""

import pytest

from tests.cluster.cli import Cli
from tests.cluster.examples import TENSORFLOW_IMAGE, TORCH_IMAGE, fetch_outputs, losses, run_in_image
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.documentation import ROOT, script

pytestmark = pytest.mark.training

YOUR_SCRIPT = ROOT / "docs" / "start" / "your-script.md"
CHECKPOINTS = ROOT / "docs" / "guides" / "checkpoints.md"


def train(lab: Lab, cli: Cli, image: str, text: str, *flags: str) -> tuple[LabCluster, str]:
    site = LabCluster.write(lab, cli, lab.fresh(2), image=image, memory="3GB")
    (site.folder / "train.py").write_text(text)
    site.up()
    return site, site.run("train", "train.py", "-np", "2", *flags).out


def test_the_pytorch_script_of_your_script(lab: Lab, cli: Cli) -> None:
    site, said = train(lab, cli, TORCH_IMAGE, script(YOUR_SCRIPT, "init_process_group"))
    assert losses(said)[3] < losses(said)[1]
    code = "import torch; print(sorted(torch.load('model.pt')))"
    assert run_in_image(TORCH_IMAGE, fetch_outputs(site), code) == "['bias', 'weight']\n"
    site.down()


def test_the_pytorch_script_of_checkpoints_continues_after_a_failure(lab: Lab, cli: Cli) -> None:
    site, said = train(lab, cli, TORCH_IMAGE, script(CHECKPOINTS, "import torch"), "--restarts", "1")
    assert "│ continue after epoch 3\n" in said and list(losses(said)) == [1, 2, 3, 4, 5, 6]
    site.down()


def test_the_keras_script_of_checkpoints_continues_after_a_failure(lab: Lab, cli: Cli) -> None:
    text = script(CHECKPOINTS, "import horovod")
    failing = text.replace("        part.replace(CHECKPOINT)\n", "        part.replace(CHECKPOINT)\n"
                           "        if os.environ['HVDOCKER_RESTART'] == '0' and epoch == 2:\n"
                           "            raise SystemExit(7)\n")  # fmt: skip
    assert failing != text
    site, said = train(lab, cli, TENSORFLOW_IMAGE, failing, "--restarts", "1")
    assert said.count("Epoch 3/6") == 1 and said.count("Epoch 4/6") == 1 and said.count("Epoch 6/6") == 1
    site.down()
