import pytest

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.transport.ssh.command_line import ssh_words


@pytest.mark.parametrize(
    ("ssh", "words"),
    [
        (SshSettings(), ("ssh", "gpu-a")),
        (SshSettings("ada"), ("ssh", "ada@gpu-a")),
        (
            SshSettings("ada", 2222, "/keys/mine", "bastion"),
            ("ssh", "-p", "2222", "-i", "/keys/mine", "-J", "bastion", "ada@gpu-a"),
        ),
    ],
)
def test_how_a_person_would_reach_the_host(ssh: SshSettings, words: tuple[str, ...]) -> None:
    assert ssh_words(Host("a", "gpu-a", ssh=ssh)) == words
