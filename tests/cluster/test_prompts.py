"""Prompts on a terminal, and what each answer does."""

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.terminal import Terminal


def test_unknown_host_keys_are_shown_and_trusted_on_a_yes(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts)
    cli.pins_hosts = False
    terminal = Terminal(cli, "up", str(site.inventory))
    terminal.wait_for("Trust them and remember them?")
    assert all(host.address in terminal.screen for host in hosts)
    assert terminal.screen.count("SHA256:") == 2
    terminal.type("y\n")
    assert terminal.end() == 0
    remembered = (cli.home / ".ssh" / "known_hosts").read_text()
    assert all(host.address in remembered for host in hosts)
    assert "nothing to do" in cli.run("up", site.inventory, check=0).out
    site.down()


def test_unknown_host_keys_are_refused_on_a_no(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts)
    cli.pins_hosts = False
    with untouched(*hosts):
        terminal = Terminal(cli, "up", str(site.inventory))
        terminal.wait_for("Trust them and remember them?")
        terminal.type("n\n")
        assert terminal.end() == 4
    assert "the host key is not known" in terminal.screen
    assert not (cli.home / ".ssh" / "known_hosts").exists()


def test_ctrl_c_at_a_question_does_nothing_and_ends_with_130(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(1)
    site = LabCluster.write(lab, cli, hosts)
    cli.pins_hosts = False
    with untouched(*hosts):
        terminal = Terminal(cli, "up", str(site.inventory))
        terminal.wait_for("Trust them and remember them?")
        terminal.type("\x03")
        assert terminal.end() == 130


def test_accepting_new_keys_ends_where_nothing_is_to_be_remembered(lab: Lab, cli: Cli) -> None:
    """`UserKnownHostsFile /dev/null` is common; the key is then new every time."""
    hosts = lab.fresh(1)
    site = LabCluster.write(lab, cli, hosts)
    cli.pins_hosts = False
    (cli.home / ".ssh" / "config").write_text("Host *\n  UserKnownHostsFile /dev/null\n")
    cli.run("up", site.inventory, "--accept-new-host-keys", check=0)
    cli.run("down", "-i", site.inventory, "--accept-new-host-keys", check=0)
    assert cluster_leftovers(hosts, "lab") == {}
    assert not (cli.home / ".ssh" / "known_hosts").exists()
