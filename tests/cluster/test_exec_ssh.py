"""`exec` and `ssh` on real hosts: a command in all workers, and a shell in one."""

import signal
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.terminal import Terminal


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, desk, hosts)
    site.up()
    yield site
    site.down()
    assert cluster_leftovers(hosts, site.cluster) == {}


def words_of(out: str) -> list[str]:
    return sorted(line.strip() for line in out.splitlines())


def test_a_command_runs_in_every_worker(site: LabCluster) -> None:
    result = site.run("exec", "--", "sh", "-c", 'echo "$(hostname) $PWD"; echo "a  b" >&2; cat', input="not read")
    assert words_of(result.out) == ["h1 │ hvd-h1 /train", "h2 │ hvd-h2 /train"]
    assert words_of(result.err) == ["h1 │ a  b", "h2 │ a  b"]


def test_a_command_runs_as_the_containers_own_user(site: LabCluster) -> None:
    (line,) = site.run("exec", "--host", "h2", "--", "sh", "-c", "id -u; :").out.splitlines()
    assert line == site.hosts[1].exec(["id", "-u", "trainer"]).strip() != "0"


def test_every_host_on_which_it_failed_is_named_with_its_code(site: LabCluster) -> None:
    result = site.run("exec", "--", "sh", "-c", '[ "$(hostname)" = hvd-h1 ] || exit 7', check=1)
    assert "h2: exit code 7" in result.err and "h1" not in result.err


def test_of_one_host_the_code_is_the_commands(site: LabCluster) -> None:
    assert site.run("exec", "--host", "h1", "--", "sh", "-c", "echo x; exit 7", check=7).out == "x\n"


def test_much_output_arrives_whole(site: LabCluster) -> None:
    numbers = site.run("exec", "--host", "h1", "--", "seq", "20000").out.split()
    assert numbers == [str(number) for number in range(1, 20001)]


def test_a_worker_that_does_not_run_is_named_and_the_others_are_used(site: LabCluster) -> None:
    site.hosts[1].docker("stop", "-t", "1", site.worker)
    try:
        result = site.run("exec", "--", "hostname", check=1)
        assert words_of(result.out) == ["h1 │ hvd-h1"]
        assert "h2: its worker does not run: it is exited" in result.err and "hvdocker up" in result.err
        refused = site.run("ssh", "h2", check=1)
        assert "its worker does not run" in refused.err
    finally:
        site.hosts[1].docker("start", site.worker)


def test_hosts_that_are_not_in_the_inventory_are_refused(site: LabCluster) -> None:
    for line in (("exec", "--host", "h9", "--", "ls"), ("ssh", "h9"), ("logs", "--host", "h9")):
        refused = site.run(*line, check=2)
        assert "no host h9" in refused.err and "h1, h2" in refused.err
    assert "goes after --" in site.run("exec", check=2).err


def test_ctrl_c_ends_the_command_on_the_hosts(site: LabCluster) -> None:
    script = 'trap "" INT; (sleep 4321 & wait) & echo begun; wait'
    process = site.cli.start("exec", "--", "sh", "-c", script, cwd=site.folder)
    assert process.stdout is not None
    assert words_of(process.stdout.readline() + process.stdout.readline()) == ["h1 │ begun", "h2 │ begun"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    for host in site.hosts:
        until(lambda host=host: "sleep 4321" not in host.docker("top", site.worker) or None, "it is gone", 10)


def test_somebody_elses_workers_are_left_alone(site: LabCluster) -> None:
    refused = site.run("exec", "--", "ls", check=1, env={"HVDOCKER_OWNER": "somebody-else"})
    assert "belongs to" in refused.err
    site.run("exec", "--force", "--", "true", env={"HVDOCKER_OWNER": "somebody-else"})


def test_a_shell_in_the_worker(site: LabCluster) -> None:
    terminal = Terminal(site.cli, "ssh", "h1", cwd=site.folder)
    terminal.wait_for("$ ")
    terminal.type("tty; echo it is $((6 * 7)) in $PWD; test -e /opt/hvdocker && exit 9\n")
    terminal.wait_for("it is 42 in /train")
    assert terminal.end() == 9
    assert "/dev/pts/" in terminal.screen


def test_a_shell_on_the_machine(site: LabCluster) -> None:
    # Its login shell is fish, which has another prompt and another language than a POSIX shell.
    terminal = Terminal(site.cli, "ssh", "h2", "--machine", cwd=site.folder)
    terminal.wait_for("> ")
    terminal.type("echo it is (math 6 \\* 7) on (hostname); test -e /opt/hvdocker; or exit 8\n")
    terminal.wait_for("it is 42 on h2")
    assert terminal.end() == 8


def test_words_are_run_as_they_are_and_without_a_terminal(site: LabCluster) -> None:
    for flags in ((), ("--machine",)):
        said = site.run("ssh", "h1", *flags, "--", "printf", "[%s]", "a  b", "$HOME", "'\"")
        # The host's start-up files print something before it, as with ssh by hand.
        assert said.out.endswith("[a  b][$HOME]['\"]")
    assert site.run("ssh", "h1", "--", "cat", input="read\n").out.endswith("read\n")
    site.run("ssh", "h1", "--", "sh", "-c", "exit 5", check=5)


def test_no_ssh_client_is_an_error_of_ours(site: LabCluster) -> None:
    refused = site.run("ssh", "h1", "--machine", check=1, env={"PATH": "/nonexistent"})
    assert "this machine has no ssh program" in refused.err and "openssh-client" in refused.err


def test_no_docker_program_on_the_host_is_told(site: LabCluster) -> None:
    host = site.hosts[0]
    host.exec("mv /usr/bin/docker /usr/bin/docker.away")
    try:
        refused = site.run("ssh", "h1", check=3)
        assert "no docker program" in refused.err and "hvdocker exec --host h1" in refused.err
        assert site.run("exec", "--host", "h1", "--", "hostname").out == "hvd-h1\n"
    finally:
        host.exec("mv /usr/bin/docker.away /usr/bin/docker")


def test_a_host_that_is_away_is_named(site: LabCluster) -> None:
    site.hosts[0].stop_sshd()
    try:
        result = site.run("exec", "--", "hostname", check=4)
        assert words_of(result.out) == ["h2 │ hvd-h2"] and "h1: " in result.err
        assert "h1: " in site.run("ssh", "h1", check=4).err
    finally:
        site.hosts[0].start_sshd()
